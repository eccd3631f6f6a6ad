import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { caseFigure, figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { forgetPeak, peakMemory } from '../support/service/process-memory.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const scripted = createScriptedApi();
const shared = useStack({ reply: scripted.reply });
const large = 'x'.repeat(3_000_000);

describe('a record that is too large', () => {
  it('costs itself: its beginning is kept with its size as the reason, and the others are delivered', async () => {
    const { stack } = shared();
    const { call } = stack.org;
    scripted.serve('records', () => ({
      body: [
        { id: '1', text: 'a' },
        { id: '2', text: large },
        { id: '3', text: 'c' },
      ],
    }));
    const { connection, destination } = await connect();
    const run = await sync(connection);
    expect(run).toMatchObject({ status: 'partial', statsJson: { recordsIn: 3, recordsOut: 2 } });
    expect(await destination.query('select id from records order by id')).toEqual([{ id: '1' }, { id: '3' }]);
    const { body: rows } = await call('GET', `/quarantine?connectionId=${connection}`);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      externalId: '2',
      rawJson: { truncated: true, bytes: 3_000_020 },
      validationErrors: [{ message: expect.stringContaining('3000020 bytes'), keyword: 'too_large' }],
    });
    expect(JSON.stringify(rows[0]).length).toBeLessThan(10_000);

    // What is kept of it is no record to try again.
    expect((await call('POST', `/quarantine/${rows[0].id}/requeue`)).body.resolvedAt).not.toBeNull();
    scripted.serve('records', () => ({ body: [{ id: '1', text: 'a' }] }));
    expect((await sync(connection)).status).toBe('succeeded');
    expect(await destination.query('select count(*)::int as count from records')).toEqual([{ count: 2 }]);
  });
});

/** Large rows of a list, put where they are stored: the largest that comes in by the API has some 1 MiB. */
const rowCount = 12;
const numbers = sql`generate_series(10, ${9 + rowCount}::int) n`;
const rowBytes = { quarantine: 20_000_000, other: 8_000_000 };
const largeText = sql`repeat('x', ${rowBytes.other}::int)`;
const largeObject = sql`jsonb_build_object('text', ${largeText})`;

interface FilledList {
  readonly path: string;
  /** Of all its rows, the small ones too. */
  readonly count: number;
  /** Of a large row; absent: that of the others. */
  readonly bytes?: number;
}

/** Each list whose rows may be large, and what puts large rows into it. */
const lists: Readonly<Record<string, () => Promise<FilledList>>> = {
  async 'quarantined records'() {
    const { stack } = shared();
    const { connection } = await connect();
    await sql`
      insert into quarantine (id, org_id, connection_id, resource_key, external_id, raw_json, validation_errors, run_id)
      select 'quar_' || n, ${stack.org.orgId}, ${connection}, 'records', n::text,
        jsonb_build_object('text', repeat('x', ${rowBytes.quarantine}::int)), '[]', 'run_1'
      from ${numbers}`.execute(stack.db);
    return { path: `/quarantine?connectionId=${connection}`, count: rowCount, bytes: rowBytes.quarantine };
  },
  async 'calls of a run'() {
    const { stack } = shared();
    scripted.serve('records', () => ({ body: [] }));
    const { connection } = await connect();
    const { id } = await sync(connection);
    await sql`delete from call_log where run_id = ${id}`.execute(stack.db);
    // Each part that may be large in turn.
    await sql`
      insert into call_log (
        org_id, id, run_id, sequence, method, url, attempt, cache_hit,
        req_headers_redacted, req_body_redacted, resp_headers, resp_body_truncated)
      select ${stack.org.orgId}, 'call_' || n, ${id}, n, 'GET', 'https://api.example/', 1, false,
        case n % 4 when 0 then ${largeObject} else '{}' end, case n % 4 when 1 then ${largeText} end,
        case n % 4 when 2 then ${largeObject} else '{}' end, case n % 4 when 3 then ${largeText} end
      from ${numbers}`.execute(stack.db);
    return { path: `/runs/${id}/calls`, count: rowCount };
  },
  async 'versions of a spec'() {
    const { stack } = shared();
    const { call, orgId } = stack.org;
    const { body } = await call('POST', '/specs', { body: specDocument(shared().upstream.url, 'versions') });
    await sql`
      insert into spec_versions (id, org_id, spec_id, version, spec_json, status, checksum)
      select 'specver_' || n, ${orgId}, ${body.specId}, '1.0.' || n, ${largeObject}, 'draft', 'sha256:' || n
      from ${numbers}`.execute(stack.db);
    return { path: '/specs/versions/versions', count: rowCount + 1 };
  },
  async runs() {
    const { stack } = shared();
    scripted.serve('records', () => ({ body: [] }));
    const { connection } = await connect();
    const { id } = await sync(connection);
    const watermark = sql`repeat('x', ${rowBytes.quarantine}::int)`;
    // Of a cursor of type string, one before and one after the run in turn.
    await sql`
      insert into runs (id, org_id, connection_id, resource_key, lane_id, concurrent_max, trigger, status, created_at,
        dispatched_at, started_at, finished_at, watermark_before, watermark_after)
      select 'run_' || n, org_id, connection_id, resource_key, lane_id, concurrent_max, trigger, 'succeeded', now(),
        now(), now(), now(), case n % 2 when 0 then ${watermark} end, case n % 2 when 1 then ${watermark} end
      from runs, ${numbers} where id = ${id}`.execute(stack.db);
    return { path: `/runs?connectionId=${connection}&limit=${rowCount}`, count: rowCount, bytes: rowBytes.quarantine };
  },
  async connections() {
    const { stack } = shared();
    const { connection } = await connect();
    // Params and overrides in turn.
    await sql`
      insert into connections (
        id, org_id, workspace_id, spec_id, pinned_spec_version, display_name, status, params_json, spec_overrides_json)
      select 'con_' || n, org_id, workspace_id, spec_id, pinned_spec_version, display_name, 'pending',
        case n % 2 when 0 then ${largeObject} else '{}' end, case n % 2 when 1 then ${largeObject} end
      from connections, ${numbers} where id = ${connection}`.execute(stack.db);
    const { rows } = await sql<{ readonly count: number }>`
      select count(*)::int as count from connections where org_id = ${stack.org.orgId}`.execute(stack.db);
    return { path: '/connections', count: rows[0]?.count ?? 0 };
  },
};

describe('a list of large rows', () => {
  it.each(Object.entries(lists))(
    'is read a few rows at a time, for several readers at once, and is complete: %s',
    async (name, fill) => {
      const { stack } = shared();
      const { path, count, bytes = rowBytes.other } = await fill();
      const { pid } = stack.api();
      await forgetPeak(pid);
      const before = await peakMemory(pid);
      const read = async () => {
        const response = await fetch(`${stack.apiUrl}/api/v1${path}`, {
          headers: { authorization: `Bearer ${stack.org.apiKey}` },
        });
        expect(response.status).toBe(200);
        expect(response.headers.get('x-total-count')).toBe(String(count));
        let received = 0;
        for await (const chunk of response.body ?? []) received += chunk.length;
        return received;
      };
      const lengths = await Promise.all([read(), read(), read(), read()]);
      expect(lengths.every((length) => length > rowCount * bytes)).toBe(true);
      const used = (await peakMemory(pid)) - before;
      // One list as a whole has 240 MB (96 MB), several times in memory.
      const most = bytes === rowBytes.quarantine ? 1000 : 400;
      if (name === 'quarantined records') figure('listMemory', { count: used, of: lengths.length });
      caseFigure('largeLists', used >= most);
      expect(used).toBeLessThan(most);
    },
    120_000,
  );
});

async function connect() {
  const { stack, upstream } = shared();
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  await call('POST', '/specs', { body: specDocument(upstream.url) });
  await call('POST', '/specs/large/versions/1.0.0/publish');
  const { body } = await call('POST', '/connections', {
    body: {
      workspaceId,
      specKey: 'large',
      specVersion: '1.0.0',
      displayName: 'Large',
      params: {},
      secrets: { databaseUrl: destination.url },
    },
  });
  await call('POST', `/connections/${body.id}/activate`);
  return { connection: body.id as string, destination };
}

async function sync(connection: string) {
  const { call } = shared().stack.org;
  const { body } = await call('POST', `/connections/${connection}/sync`, { body: { resource: 'records' } });
  return eventually('the run ends', async () => {
    const run = await call('GET', `/runs/${body.id}`);
    return run.body.finishedAt !== null && run.body;
  });
}

const specDocument = (baseUrl: string, key = 'large') => ({
  metadata: { key, name: 'Large', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl },
  resources: [
    {
      key: 'records',
      primaryKey: 'id',
      request: { path: '/records' },
      onInvalid: 'quarantine',
      target: { table: 'records' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
