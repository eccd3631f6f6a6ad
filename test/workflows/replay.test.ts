import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../fixtures/histories');
const workflowsPath = join(import.meta.dirname, '../../workflows/index.ts');
const files = readdirSync(folder);

let code: string;
beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  const filter = makeTelemetryFilterString({ core: 'ERROR' });
  Runtime.install({ logger, telemetryOptions: { logging: { filter, forward: {} } } });
  ({ code } = await bundleWorkflowCode({ workflowsPath, logger }));
});

/** The failure of replaying a history with today's workflows; undefined: it replays. */
async function replay(history: Json): Promise<Error | undefined> {
  const histories = [{ workflowId: 'recorded', history: historyFromJSON(history) }];
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: { code } }, histories)) return error;
  throw new Error('nothing was replayed');
}

describe('the workflows go on with runs that an earlier version began', () => {
  test('there is a history of every path', () => {
    expect(files).toEqual(['cancel.json', 'lane.json', 'plain.json', 'throttled.json', 'tick.json']);
  });

  test.for(files)('%s', async (file) => {
    expect(await replay(read(file))).toBeUndefined();
  });

  test('a history that they cannot have made does not replay', async () => {
    const changed = JSON.stringify(read('plain.json')).replaceAll('"syncChunk"', '"syncPage"');
    expect((await replay(JSON.parse(changed)))?.name).toBe('DeterminismViolationError');
  });
});

describe('a history', () => {
  test.for(files)('%s holds ids and totals, and no record, address or secret', (file) => {
    const texts = payloadsOf(read(file)).join('\n');
    expect(texts).toContain('run_');
    expect(texts).not.toMatch(/postgres:|127\.0\.0\.1|@example\.com|Name 0/);
  });
});

type Json = { readonly [key: string]: unknown };

const read = (file: string): Json => JSON.parse(readFileSync(join(folder, file), 'utf8'));

/** Every payload of a history, decoded. */
function payloadsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'data' in value && typeof value.data === 'string' ? [atob(value.data)] : [];
  return [...own, ...Object.values(value).flatMap((item) => payloadsOf(item))];
}
