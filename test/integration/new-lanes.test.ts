import { describe, expect, it } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, pageOf } from '../support/sync/sync.ts';
import type { UpstreamResponse } from '../support/upstream/upstream.ts';

const perPage = 10;
/** Given twice: 1,600 pages in two chunks, and what the second reads was read in the first. */
const records = 8000;
const given = 2 * records;

describe.each([1, 2])('a first run whose API gives every record twice, with %d workers', (workers) => {
  const shared = useStack(
    {
      collections: { repeating: [] },
      reply: ({ url }) => respondPage(pageOf(url, perPage)),
    },
    { workers },
  );

  it('delivers each once', async () => {
    const { stack, upstream } = shared();
    const transform = '{ "id": id, "name": name, "updated_at": updated_at }';
    await using sync = await createSync(stack, { upstream, collection: 'repeating', perPage, transform });
    const runId = await sync.requestPaused();
    upstream.resume();
    const run = await sync.ended(runId);
    expect(run.status).toBe('succeeded');
    expect(run.statsJson).toMatchObject({ recordsIn: given, recordsOut: records, skipped: records });
    expect(await sync.destination.writes()).toEqual({ rows: records, inserts: records, updates: 0, deletes: 0 });
  });
});

function respondPage(page: number): UpstreamResponse {
  const first = (page - 1) * perPage;
  const data = Array.from({ length: perPage }, (_, index) => recordOf((first + index) % records));
  const after = first + perPage;
  return { body: JSON.stringify({ data, next_cursor: after < given ? btoa(String(after)) : null }) };
}

const recordOf = (n: number) => ({ id: `r${n}`, updated_at: '2026-01-01T00:00:00Z', name: `Name ${n}` });
