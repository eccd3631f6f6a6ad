/** The report job of a window: created once, polled until it is ready. */
import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { textOf } from '../../json/json-text.ts';
import type { HttpResponse } from '../../model/http.ts';
import type { JobPosition, ReadPosition } from '../../model/read-position.ts';
import type { ErrorRule, RequestTemplate } from '../../spec/schema/http-schema.ts';
import type { ReportJob } from '../../spec/schema/job-schema.ts';
import { authRoot, createSigner } from '../auth/request-signer.ts';
import { decodeBody } from '../decode/decode-body.ts';
import type { Evaluate } from '../request/evaluate.ts';
import { interpretResponse } from '../request/interpret-response.ts';
import { rendererFor, renderRequest } from '../request/render-request.ts';
import type { RequestRoots } from '../request/request.ts';
import type { Source } from '../source.ts';
import { positionText } from './position-text.ts';
import { type ReportParts, reportParts } from './report-parts.ts';

/** What a read with report jobs needs of its run. */
export interface JobPort {
  /** Resolves when the run continues at the position even after a crash. */
  save(position: ReadPosition): Promise<void>;
  /** Waits; may throw instead, so that the read continues after the wait in another process. */
  wait(ms: number): Promise<void>;
}

/** How a job is waited for. */
export interface JobOptions {
  readonly port: JobPort | null;
  /** What requests see of the window. */
  readonly roots: RequestRoots;
  readonly evaluate: Evaluate;
  readonly signal: AbortSignal;
}

/** A job that is ready. */
interface ReadyJob {
  /** The job of the position, without a part. */
  readonly job: JobPosition;
  /** Whether it has no records. */
  readonly isEmpty: boolean;
  /** Whether its parts are missing, so that it may have records. */
  readonly isIncomplete: boolean;
  /** The parts by the last poll; null: the report has none. */
  readonly parts: ReportParts | null;
}

/** What `job` is in the requests of a job. */
export const jobRoot = ({ id, values, part }: JobPosition): Readonly<Record<string, unknown>> => ({
  ...values,
  id,
  ...(part && { part: part.value }),
});

/**
 * A job that is ready: the one of the position, or a new one, whose id is saved before anything else happens. Each process
 * polls before it reads, because the address of a report may be valid for a short time only. Throws `source_rejected` when
 * the job fails or takes too long, and what the client and the port throw.
 */
export async function readyJob(source: Source, begin: ReadPosition, options: JobOptions): Promise<ReadyJob> {
  const { job: rules } = source.resource;
  const { port } = options;
  if (rules === undefined || port === null) throw new Error('Report jobs need the position of a run');
  const intervalMs = rules.intervalSeconds * 1000;
  let { job } = begin;
  for (;;) {
    if (job === undefined) {
      // A window that ends now would end later after a crash, and its job is of the window as it was.
      if (begin.pagesRead === 0) await port.save(begin);
      job = await create(source, rules, begin, options);
      await port.save({ ...begin, job });
    } else {
      const polled = await poll(source, rules, job, options);
      const { id, createdAt } = job;
      if (polled !== null) return { ...polled, job: { id, createdAt, values: polled.values } };
      refuseLate(source, rules, job);
    }
    await port.wait(intervalMs);
  }
}

async function create(source: Source, rules: ReportJob, at: ReadPosition, options: JobOptions): Promise<JobPosition> {
  const content = [source.run.id, at.fingerprint, at.windowNo, at.from, at.to];
  const key = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
  const response = await send(source, rules.create, {
    ...options,
    what: 'job.create',
    job: { key },
    errors: rules.createErrors,
  });
  const id = await options.evaluate(rules.id, response);
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw new AppError('source_rejected', 'The response to job.create has no id at job.id. Correct it in the spec.');
  }
  return {
    id: positionText(String(id), 'The id of a job', 'job.id'),
    createdAt: source.now().toISOString(),
    values: {},
  };
}

/** Asks for the state of a job; null: it still runs. */
async function poll(
  source: Source,
  rules: ReportJob,
  job: JobPosition,
  options: JobOptions,
): Promise<(Omit<ReadyJob, 'job'> & Pick<JobPosition, 'values'>) | null> {
  const { evaluate } = options;
  const response = await send(source, rules.poll, {
    ...options,
    what: 'job.poll',
    job: jobRoot(job),
    errors: rules.pollErrors,
  });
  const status = textOf(await evaluate(rules.status, response));
  if (rules.failed.includes(status)) {
    const shown = status.slice(0, 100);
    throw new AppError(
      'source_rejected',
      `The report job ended with the status "${shown}". The calls of the run show why.`,
    );
  }
  if (!rules.completed.includes(status)) return null;
  const isEmpty = rules.emptyWhen !== undefined && (await evaluate(rules.emptyWhen, response)) === true;
  const values: Record<string, string | number> = {};
  for (const [name, expression] of Object.entries(rules.values)) {
    const value = await evaluate(expression, response);
    if (typeof value === 'number') values[name] = value;
    if (typeof value === 'string') values[name] = positionText(value, `The value "${name}" of a job`, 'job.values');
  }
  if (rules.parts === undefined || isEmpty) return { values, parts: null, isEmpty, isIncomplete: false };
  const parts = reportParts(
    await evaluate(rules.parts, response),
    source.resource.response.recordsMissing,
    source.masked,
  );
  const isIncomplete = parts === null;
  return { values, parts, isEmpty: isIncomplete || parts.values.length === 0, isIncomplete };
}

function refuseLate(source: Source, { timeoutSeconds }: ReportJob, { createdAt }: JobPosition): void {
  if (source.now().getTime() - Date.parse(createdAt) < timeoutSeconds * 1000) return;
  const message = `The report job was not ready within job.timeoutSeconds (${timeoutSeconds}).`;
  throw new AppError('source_rejected', `${message} Raise that limit, or use smaller windows.`);
}

/** A decoded response as expressions see it. */
type JobResponse = { readonly body: unknown } & Pick<HttpResponse, 'status' | 'headers'> & Pick<Source, 'params'>;

/** One request of a job. */
interface JobRequest extends JobOptions {
  readonly what: string;
  readonly job: Readonly<Record<string, unknown>>;
  /** Undefined: those of the resource. */
  readonly errors: readonly ErrorRule[] | undefined;
}

/**
 * Sends a request of a job, whose response is JSON. Throws `source_rejected` for a response that counts as empty or
 * skipped, because that is no job.
 */
async function send(given: Source, template: RequestTemplate, request: JobRequest): Promise<JobResponse> {
  const { what, job, roots, evaluate, signal, errors } = request;
  const source = withResponse(given, errors);
  const { params, each, lookups, run } = source;
  const seen = { params, each, lookups, run, ...roots, auth: await authRoot(source, signal), job };
  const { http } = await renderRequest(source, template, {
    render: rendererFor(source, seen),
    link: null,
    inject: null,
  });
  const classify = interpretResponse(source, { evaluate, page: { index: 1, startsFromToken: false } });
  const response = await source.client.send(http, { signal, signer: createSigner(source, signal), classify });
  const { status, headers } = response;
  if (response.meaning) {
    throw new AppError(
      'source_rejected',
      `The API responded with ${status} to ${what}, which is neither a job nor its state.`,
    );
  }
  return { body: await decodeBody(response, source), headers, status, params };
}

/** The source as the requests about a job see it: error rules read JSON, whatever the report is. */
const withResponse = (source: Source, errors: readonly ErrorRule[] | undefined): Source => ({
  ...source,
  resource: {
    ...source.resource,
    errors: errors === undefined ? source.resource.errors : [...errors],
    response: { ...source.resource.response, decoder: 'json' },
  },
});
