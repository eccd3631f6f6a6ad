import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, DefaultLogger, makeTelemetryFilterString, Runtime, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';
import { createPayloadCodec, type Payload, payloadKeyId } from '../../src/core/crypto/payload-codec.ts';
import type { RingKey } from '../../src/core/crypto/secret-box.ts';
import { workflowModules } from '../../src/telemetry/traces/traces.ts';
import { createDataConverter, failureConverterPath, sealedInputsPath } from '../../src/temporal/data-converter.ts';
import { fromBefore, refusal } from '../../workflows/bound-inputs.ts';
import { changePayloads, payloadsIn } from '../support/service/payloads.ts';

const folder = join(import.meta.dirname, '../fixtures/histories');
const workflowsPath = join(import.meta.dirname, '../../workflows/index.ts');
const files = readdirSync(folder);

let code: string;
/** The same with the interceptors of traces. */
let traced: string;
beforeAll(async () => {
  const logger = new DefaultLogger('ERROR');
  const filter = makeTelemetryFilterString({ core: 'ERROR' });
  Runtime.install({ logger, telemetryOptions: { logging: { filter, forward: {} } } });
  const sources = { workflowsPath, failureConverterPath, logger };
  const bundle = (...modules: string[]) =>
    bundleWorkflowCode({ ...sources, workflowInterceptorModules: [sealedInputsPath, ...modules] });
  ({ code } = await bundle());
  ({ code: traced } = await bundle(...workflowModules));
});

const ring: readonly [RingKey, ...RingKey[]] = [{ id: 'k1', key: new Uint8Array(randomBytes(32)) }];
/** What was stored before there was encryption is for no worker. */
const readsAll = createDataConverter(ring);
/** As a worker has it, but that all payloads of a history are for one place. */
const placed = createPayloadCodec(ring, { placeOf: () => 'here', refusal, fromBefore });
const worker = { payloadCodecs: [placed], failureConverterPath };
const seal = (payloads: Payload[]) => placed.encode(payloads, { type: 'workflow', workflowId: '' });

/** Takes the spans of workflows. */
const noExport = { exporter: { export: { fn: () => undefined } } };

/** The failure of replaying a history with today's workflows; undefined: it replays. */
async function replay(
  history: ReturnType<typeof historyFromJSON>,
  { bundle = code, dataConverter = readsAll } = {},
): Promise<Error | undefined> {
  const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
  const histories = [{ workflowId, history }];
  const options = { workflowBundle: { code: bundle }, dataConverter, sinks: noExport };
  for await (const { error } of Worker.runReplayHistories(options, histories)) return error;
  throw new Error('nothing was replayed');
}

describe('the workflows go on with runs that another worker began', () => {
  test('there is a history of every path', () => {
    // `tick` is what a schedule started before, and most runs are of the order of steps before `steps: 2`. `renewal` is an
    // endpoint whose worker did not know that signal, and waited on.
    const recorded = [
      'cancel',
      'firing',
      'inbound',
      'lane',
      'plain',
      'quiet',
      'refused',
      'renewal',
      'throttled',
      'tick',
      'webhook',
    ];
    expect(files.toSorted()).toEqual(recorded.map((name) => `${name}.json`).toSorted());
  });

  test.for(files)('%s', async (file) => {
    expect(await replay(historyFromJSON(read(file)))).toBeUndefined();
  });

  test.for(files)('%s, with traces', async (file) => {
    expect(await replay(historyFromJSON(read(file)), { bundle: traced })).toBeUndefined();
  });

  test.for(files)('%s, sealed', async (file) => {
    const history = await changePayloads(historyFromJSON(read(file)), seal);
    expect(await replay(history, { dataConverter: worker })).toBeUndefined();
  });

  test('a history that they cannot have made does not replay', async () => {
    const changed = JSON.stringify(read('plain.json')).replaceAll('"syncPages"', '"syncPage"');
    expect((await replay(historyFromJSON(JSON.parse(changed))))?.name).toBe('DeterminismViolationError');
  });
});

test('a run that was asked to stop ends as canceled for operators too', () => {
  const history = historyFromJSON(read('cancel.json'));
  expect(history.events?.at(-1)?.workflowExecutionCanceledEventAttributes).toBeTruthy();
});

describe('a history', () => {
  test.for(files)('%s holds ids and totals, and no record, address or secret', (file) => {
    const texts = payloadsOf(read(file)).join('\n');
    expect(texts).toMatch(/run_|whe_|sched_/);
    expect(texts).not.toMatch(/postgres:|127\.0\.0\.1|@example\.com|Name 0/);
  });

  test.for(files)('%s is encrypted but for summaries, memos, states and times', async (file) => {
    const { encode } = createPayloadCodec(ring);
    const all = payloadsIn(await changePayloads(historyFromJSON(read(file)), encode));
    const readable = all.filter(({ payload }) => payloadKeyId(payload) === null);
    expect(readable.length).toBeLessThan(all.length);
    const texts = readable
      .filter(({ path }) => !/userMetadata|memo/.test(path))
      .map(({ payload }) => Buffer.from(payload.data ?? []).toString());
    for (const text of texts) expect(text).toMatch(/^"([a-z]+|\d{4}-\d\d-\d\dT[\d:.]+Z)"$/);
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
