import { Counter, Histogram, type Registry } from 'prom-client';
import {
  evaluatorEnds,
  observations,
  refusalReasons,
  repairKinds,
  type UpstreamCalled,
  waitReasons,
} from '../../core/observations.ts';
import { RunStatus, RunTrigger } from '../../core/resources/run.ts';
import { destinationKinds } from '../../core/spec/schema/destination-kinds.ts';

/** Seconds of a request to a customer's API, or to ours. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
/** Seconds, from a quiet run to a full read of millions. */
const runBuckets = [0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 43_200];

const finalStatuses = RunStatus.options.filter((status) => status !== 'queued' && status !== 'running');
const upstreamResults = ['2xx', '4xx', '429', '5xx', 'timeout', 'network'] as const;

export function countObservations(registry: Registry): () => void {
  const ends = [
    ...countRuns(registry),
    ...countRecords(registry),
    ...countUpstream(registry),
    ...countEvents(registry),
    ...countRepairs(registry),
    ...countRequests(registry),
    ...countRefusals(registry),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function countRuns(registry: Registry) {
  const ended = counter(registry, 'runs_total', 'Runs that ended.', ['trigger', 'status']);
  const duration = histogram(registry, 'run_duration_seconds', 'From the start of a run to its end.', {
    labels: ['trigger'],
    buckets: runBuckets,
  });
  const queued = histogram(
    registry,
    'run_queue_seconds',
    'From the request of a run to its start, counted at its end.',
    {
      labels: ['trigger'],
      buckets: runBuckets,
    },
  );
  // Initial zeros, since rate() misses the first increment of a counter that begins with it.
  for (const trigger of RunTrigger.options) {
    for (const status of finalStatuses) ended.inc({ trigger, status }, 0);
    duration.zero({ trigger });
    queued.zero({ trigger });
  }
  return [
    observations.runEnded.subscribe(({ trigger, status, durationMs, queuedMs }) => {
      ended.inc({ trigger, status });
      if (durationMs !== null) duration.observe({ trigger }, durationMs / 1000);
      if (queuedMs !== null) queued.observe({ trigger }, queuedMs / 1000);
    }),
  ];
}

function countRecords(registry: Registry) {
  const read = counter(registry, 'records_in_total', 'Records read from APIs, and quarantined ones retried.');
  const out = counter(registry, 'records_out_total', 'Records acknowledged by destinations.');
  const skipped = counter(registry, 'records_skipped_total', 'Unchanged, filtered, stale or repeated records.');
  const quarantined = counter(registry, 'records_quarantined_total', 'Records stored as quarantined.');
  const deleted = counter(registry, 'records_deleted_total', 'Deletions acknowledged by destinations.');
  const applied = histogram(registry, 'batch_duration_seconds', 'What a batch takes at its destination.', {
    labels: ['destination', 'result'],
    buckets: requestBuckets,
  });
  for (const destination of destinationKinds) applied.zero({ destination, result: 'applied' });
  return [
    observations.batchRecorded.subscribe((batch) => {
      read.inc(batch.recordsIn);
      out.inc(batch.recordsOut);
      skipped.inc(batch.skipped);
      quarantined.inc(batch.quarantined);
      deleted.inc(batch.deleted);
    }),
    observations.batchApplied.subscribe(({ kind, failed, durationMs }) =>
      applied.observe({ destination: kind, result: failed ? 'failed' : 'applied' }, durationMs / 1000),
    ),
  ];
}

function countUpstream(registry: Registry) {
  const calls = histogram(registry, 'upstream_request_duration_seconds', 'Requests to customers, each attempt.', {
    labels: ['result'],
    buckets: requestBuckets,
  });
  const saved = counter(registry, 'upstream_cache_hits_total', 'Requests that a cache saved, or a 304 shortened.');
  const waits = counter(registry, 'waits_total', 'Waits of runs, by what they wait for.', ['reason']);
  const waited = counter(registry, 'wait_seconds_total', 'The length of these waits, as decided at their begin.', [
    'reason',
  ]);
  for (const reason of waitReasons) {
    waits.inc({ reason }, 0);
    waited.inc({ reason }, 0);
  }
  for (const result of upstreamResults) calls.zero({ result });
  return [
    observations.upstreamCalled.subscribe((call) => {
      if (call.cacheHit) saved.inc();
      const result = resultOf(call);
      if (result !== null) calls.observe({ result }, call.durationMs / 1000);
    }),
    observations.waitBegun.subscribe(({ reason, waitMs }) => {
      waits.inc({ reason });
      waited.inc({ reason }, waitMs / 1000);
    }),
  ];
}

/** `429` is apart from `4xx`, and a request without a response has its error code; `null` if a cache saved the request. */
function resultOf({ statusCode, errorCode, cacheHit }: UpstreamCalled): string | null {
  if (errorCode !== null) return errorCode;
  if (statusCode === null) return cacheHit ? null : 'network';
  return statusCode === 429 ? '429' : classOf(statusCode);
}

const classOf = (status: number): string => `${Math.floor(status / 100)}xx`;

function countEvents(registry: Registry) {
  const sent = histogram(registry, 'event_delivery_duration_seconds', 'Attempts to send an event to an endpoint.', {
    labels: ['result'],
    buckets: requestBuckets,
  });
  sent.zero({ result: 'delivered' });
  return [observations.eventSent.subscribe(({ result, durationMs }) => sent.observe({ result }, durationMs / 1000))];
}

function countRepairs(registry: Registry) {
  const repairs = counter(registry, 'repairs_total', 'What sweepers repaired.', ['kind']);
  const restarts = counter(registry, 'evaluator_restarts_total', 'Evaluator processes that were ended.', ['reason']);
  for (const kind of repairKinds) repairs.inc({ kind }, 0);
  for (const reason of evaluatorEnds) restarts.inc({ reason }, 0);
  return [
    observations.repaired.subscribe(({ kind, count }) => repairs.inc({ kind }, count)),
    observations.evaluatorEnded.subscribe(({ reason }) => restarts.inc({ reason })),
  ];
}

function countRequests(registry: Registry) {
  const served = counter(registry, 'api_requests_total', 'Requests to the API.', ['method', 'route', 'status']);
  const duration = histogram(registry, 'api_request_duration_seconds', 'From a request to its response.', {
    labels: ['status_class'],
    buckets: requestBuckets,
  });
  return [
    observations.requestServed.subscribe(({ method, route, status, durationMs }) => {
      served.inc({ method, route, status });
      duration.observe({ status_class: classOf(status) }, durationMs / 1000);
    }),
  ];
}

function countRefusals(registry: Registry) {
  const refusals = counter(registry, 'database_refusals_total', 'What the control database refused, and why.', [
    'reason',
  ]);
  for (const reason of refusalReasons) refusals.inc({ reason }, 0);
  return [observations.databaseRefused.subscribe(({ reason }) => refusals.inc({ reason }))];
}

const counter = <Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
) => new Counter({ name: `connector_sync_${name}`, help, labelNames, registers: [registry] });

const histogram = <Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  { labels, buckets }: { readonly labels: readonly Label[]; readonly buckets: readonly number[] },
) =>
  new Histogram({
    name: `connector_sync_${name}`,
    help,
    labelNames: labels,
    buckets: [...buckets],
    registers: [registry],
  });
