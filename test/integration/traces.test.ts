import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { loadConfig } from '../../src/config/config.ts';
import { workflowModules } from '../../src/telemetry/traces/traces.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { workflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { eventually } from '../support/service/eventually.ts';
import { type Stack, startStack } from '../support/service/stack.ts';
import { type ReceivedSpan, startTraceCollector, type TraceCollector } from '../support/service/trace-collector.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords, startUpstream, type Upstream } from '../support/upstream/upstream.ts';

const started = new AsyncDisposableStack();
let collector: TraceCollector;
let upstream: Upstream;
let stack: Stack;
let sync: Sync;

beforeAll(async () => {
  collector = started.use(await startTraceCollector());
  upstream = started.use(await startUpstream({ collections: { contacts: generateRecords(250) } }));
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  stack = started.use(await startStack({ allow: [upstream.hostPort], env }));
  sync = started.use(await createSync(stack, { upstream, collection: 'contacts' }));
});
afterAll(() => started.disposeAsync());

/** Requests a sync as a caller with a trace of its own; resolves with the spans of that trace once it has one of `name`. */
async function traceOf(name: string, status = 'succeeded'): Promise<readonly ReceivedSpan[]> {
  const traceId = randomBytes(16).toString('hex');
  const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
  const path = `/connections/${sync.connectionId}/sync`;
  const { body } = await stack.org.call('POST', path, { headers, body: { resource: 'contacts' } });
  expect((await sync.ended(body.id)).status).toBe(status);
  return await eventually(`the trace has ${name}`, async () => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    return spans.some((span) => span.name === name) && spans;
  });
}

/** The names from a span up to the first of its trace. */
function lineOf(spans: readonly ReceivedSpan[], name: string): readonly string[] {
  const line: string[] = [];
  let span = spans.find((one) => one.name === name);
  while (span) {
    line.push(`${span.service.replace('connector-sync-', '')}: ${span.name}`);
    const { parentSpanId } = span;
    span = spans.find((one) => one.spanId === parentSpanId);
  }
  return line.toReversed();
}

const begin = [
  'api: POST /api/v1/connections/:id/sync',
  'api: StartWorkflow:syncRun',
  'worker: RunWorkflow:syncRun',
] as const;

describe('a trace', () => {
  it('leads from the request of a caller over workflow and activity to the API of the customer and the destination', async () => {
    const spans = await traceOf('RunWorkflow:syncRun');
    for (const last of ['upstream GET', 'deliver postgres']) {
      expect(lineOf(spans, last)).toEqual([
        ...begin,
        'worker: StartActivity:syncPages',
        'worker: RunActivity:syncPages',
        `worker: ${last}`,
      ]);
    }
    expect(spans.find(({ name }) => name === 'upstream GET')?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
    });
    expect(spans.find(({ name }) => name === 'deliver postgres')?.attributes).toMatchObject({
      'connector_sync.destination': 'postgres',
      'connector_sync.rows': expect.any(Number),
    });
  });

  it('has the ids of the service on each span, and the version and instance of its process', async () => {
    const spans = await traceOf('RunWorkflow:syncRun');
    const [run] = (await stack.org.call('GET', '/runs')).body;
    const ids = {
      'connector_sync.org_id': stack.org.orgId,
      'connector_sync.connection_id': sync.connectionId,
      'connector_sync.resource_key': 'contacts',
      'connector_sync.run_id': run.id,
    };
    for (const { name, attributes } of spans.filter((span) => !span.name.startsWith('POST'))) {
      expect({ name, ...attributes }).toMatchObject(ids);
      expect(attributes).not.toHaveProperty('run_id');
    }
    const request = spans.find(({ name }) => name.startsWith('POST'));
    expect(request?.attributes).toMatchObject({ 'connector_sync.org_id': stack.org.orgId });
    for (const { service, resource } of spans) {
      const { pid } = service === 'connector-sync-api' ? stack.api() : stack.worker();
      expect(resource).toMatchObject({
        'service.version': manifest.version,
        'service.instance.id': `${hostname()}-${pid}`,
      });
    }
  });

  it('includes the local activity of a quiet run', async () => {
    // A busy machine may take too long for one run, and the next one is then read by an activity.
    const spans = await eventually('a run is read by its first step', async () => {
      const made = await traceOf('RunWorkflow:syncRun');
      return lineOf(made, 'upstream GET').includes('worker: RunActivity:runHere') && made;
    });
    expect(lineOf(spans, 'upstream GET')).toEqual([
      ...begin,
      'worker: StartActivity:runHere',
      'worker: RunActivity:runHere',
      'worker: upstream GET',
    ]);
  });

  it('is not given on to the API of the customer', () => {
    const headers = upstream.journal.flatMap((entry) => Object.keys(entry.headers));
    expect(headers).toContain('user-agent');
    expect(headers.filter((name) => /trace|baggage/.test(name))).toEqual([]);
  });

  it('has no message of an error', async () => {
    upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 404, body: 'a secret of the API' });
    const spans = await traceOf('RunWorkflow:syncRun', 'failed');
    expect(spans.find(({ name }) => name === 'upstream GET')?.attributes).toMatchObject({
      'http.response.status_code': 404,
    });
    expect(collector.text()).toContain('exception.type');
    expect(collector.text()).not.toMatch(/exception\.message|secret of the API|responded with 404/);
  });

  it('leaves histories that replay without tracing too', async () => {
    const [run] = (await stack.org.call('GET', '/runs')).body;
    const workflowId = `sync:${sync.connectionId}:contacts:${run.id}`;
    const history = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    const { cacheDir } = loadConfig(process.env);
    const logger = new DefaultLogger('ERROR');
    const dataConverter = createDataConverter(stack.keyRing);
    for (const modules of [[], workflowModules]) {
      const options = {
        workflowBundle: await workflowBundle(cacheDir, {
          isVersioned: false,
          logger,
          workflowInterceptorModules: modules,
        }),
        dataConverter,
      };
      for await (const { error } of Worker.runReplayHistories(options, [{ workflowId, history }])) {
        expect(error).toBeUndefined();
      }
    }
  });

  it('has no address, parameter, record or secret of an org', () => {
    const text = collector.text();
    expect(collector.spans.length).toBeGreaterThan(20);
    const { apiKey } = stack.org;
    const [record] = upstream.store('contacts').list();
    const values = [
      apiKey,
      upstream.hostPort,
      upstream.url,
      '/cursor/contacts',
      'per_page',
      'postgres://',
      String(record?.['email']),
    ];
    expect(values.filter((value) => text.includes(value))).toEqual([]);
    expect(text).not.toMatch(/searchAttributes|memo|stacktrace/);
  });
});
