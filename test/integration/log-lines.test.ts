import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { startTraceCollector } from '../support/service/trace-collector.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords, startUpstream, type Upstream } from '../support/upstream/upstream.ts';

interface Line {
  readonly process: string;
  readonly text: string;
}

const started = new AsyncDisposableStack();
const lines: Line[] = [];
let upstream: Upstream;
let stack: Stack;
let sync: Sync;

beforeAll(async () => {
  const collector = started.use(await startTraceCollector());
  upstream = started.use(await startUpstream({ collections: { contacts: generateRecords(250) } }));
  const env = {
    LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  };
  const onLine = (process: string, text: string) => void lines.push({ process, text });
  stack = started.use(await startStack({ allow: [upstream.hostPort], env, onLine }));
  sync = started.use(await createSync(stack, { upstream, collection: 'contacts' }));
});
afterAll(() => started.disposeAsync());

type Fields = Readonly<Record<string, unknown>>;

/** The lines so far with such a message. */
const written = (message: string): readonly Fields[] =>
  lines.map(({ text }): Fields => JSON.parse(text)).filter((fields) => fields['message'] === message);

/** Requests a sync; resolves with the lines that name its run, once it has ended, and all of the SDK's are written. */
async function linesOfRun(status: string): Promise<{ readonly runId: string; readonly of: readonly Fields[] }> {
  const runId = await sync.request();
  expect((await sync.ended(runId)).status).toBe(status);
  await eventually('the workflow has written its last line', async () =>
    lines.some(({ text }) => text.includes(runId) && /"Workflow (?:completed|failed)/.test(text)),
  );
  const ofWorker = lines.filter(({ process, text }) => process === 'worker' && text.includes(runId));
  return { runId, of: ofWorker.map(({ text }): Fields => JSON.parse(text)) };
}

describe('the log', () => {
  it('has the ids of its org, connection, resource and run, and its trace, on every line of a run', async () => {
    const { runId, of } = await linesOfRun('succeeded');
    const { connectionId } = sync;
    const ids = { orgId: stack.org.orgId, connectionId, resourceKey: 'contacts', runId };
    const messages = of.map(({ message }) => message);
    for (const message of ['upstream called', 'batch applied', 'statement sent', 'run ended', 'Activity completed']) {
      expect(messages).toContain(message);
    }
    const bare = of.filter(
      (line) =>
        Object.entries(ids).some(([name, id]) => line[name] !== id) || !/^[0-9a-f]{32}$/.test(String(line['traceId'])),
    );
    expect(bare.map(({ time: _time, pid: _pid, ...line }) => line)).toEqual([]);
    expect(new Set(of.map(({ traceId }) => traceId)).size).toBe(1);
  });

  it('says how many records a run that ended had, by outcome, and how long it waited and took', async () => {
    const { of } = await linesOfRun('succeeded');
    const ended = of.filter(({ message }) => message === 'run ended');
    expect(ended).toMatchObject([
      {
        level: 'info',
        trigger: 'manual',
        status: 'succeeded',
        code: null,
        recordsIn: 1,
        recordsOut: 0,
        skipped: 1,
      },
    ]);
    expect(ended[0]).toMatchObject({
      quarantined: 0,
      deleted: 0,
      durationMs: expect.any(Number),
      queuedMs: expect.any(Number),
    });
  });

  it('shows with debug each request, batch and statement, and nothing of the data', async () => {
    const store = upstream.store('contacts');
    store.touch(['r000001'], { name: 'changed' });
    const { of } = await linesOfRun('succeeded');
    const fieldsOf = (message: string) => of.filter((line) => line['message'] === message);
    expect(fieldsOf('upstream called')[0]).toMatchObject({ method: 'GET', statusCode: 200, attempt: 1 });
    expect(fieldsOf('batch applied')[0]).toMatchObject({ kind: 'postgres', failed: false });
    expect(fieldsOf('statement sent').map(({ name }) => name)).toContainEqual(
      expect.stringMatching(/^update runs css_[0-9a-f]{24}$/),
    );
    const text = lines.map((line) => line.text).join('\n');
    const [record] = store.list();
    const values = [String(record?.['email']), '/cursor/contacts', 'postgres://', stack.org.apiKey, ' where ', '$1'];
    expect(values.filter((value) => text.includes(value))).toEqual([]);
  });

  it('is JSON in each line, also what the core of the SDK says while Temporal is away, and says why with a short stack', async () => {
    const before = lines.length;
    await stack.temporal.stop();
    const runId = await sync.request();
    await eventually('the core of the SDK says that Temporal is away', async () =>
      lines.slice(before).some(({ text }) => text.includes('"sdkComponent":"core"')),
    );
    await stack.temporal.start();
    expect((await sync.ended(runId)).status).toBe('succeeded');
    const foreign = lines.filter(({ text }) => !/^\{.*\}$/.test(text));
    expect(foreign).toEqual([]);
    const [left] = written('Temporal may not know of a change; the sweeper will try again');
    expect(left).toMatchObject({ orgId: stack.org.orgId, connectionId: sync.connectionId, runId });
    expect(JSON.stringify(left)).toMatch(/UNAVAILABLE|DEADLINE_EXCEEDED/);
    expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThan(2500);
  });
});
