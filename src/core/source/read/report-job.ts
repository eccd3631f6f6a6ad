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

export interface JobPort {
  /** Resolves when the run continues at the position even after a crash. */
  save(position: ReadPosition): Promise<void>;
  /** May throw instead, so that another process continues the read after the wait. */
  wait(ms: number): Promise<void>;
}

export interface JobOptions {
  readonly port: JobPort | null;
  readonly roots: RequestRoots;
  readonly evaluate: Evaluate;
  readonly signal: AbortSignal;
}

interface ReadyJob {
  readonly job: JobPosition;
  readonly isEmpty: boolean;
  /** The parts are missing, so there may be records. */
  readonly isIncomplete: boolean;
  /** As of the last poll, or `null` if the report has none. */
  readonly parts: ReportParts | null;
}

export const jobRoot = ({ id, values, part }: JobPosition): Readonly<Record<string, unknown>> => ({
  ...values,
  id,
  ...(part && { part: part.value }),
});

/**
 * A new job's id is saved before anything else happens. Each process polls before it reads, because the address of a
 * report may be valid only briefly. Throws `source_rejected` if the job fails or takes too long, and what the client
 * and the port throw.
 */
export async function readyJob(source: Source, begin: ReadPosition, options: JobOptions): Promise<ReadyJob> {
  const { job: rules } = source.resource;
  const { port } = options;
  if (rules === undefined || port === null) throw new Error('Report jobs need the position of a run');
  const intervalMs = rules.intervalSeconds * 1000;
  let { job } = begin;
  for (;;) {
    if (job === undefined) {
      // After a crash the window would end later, while its job covers the window as it was.
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

/** `null` while the job runs. */
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

type JobResponse = { readonly body: unknown } & Pick<HttpResponse, 'status' | 'headers'> & Pick<Source, 'params'>;

interface JobRequest extends JobOptions {
  readonly what: string;
  readonly job: Readonly<Record<string, unknown>>;
  /** `undefined` for the rules of the resource. */
  readonly errors: readonly ErrorRule[] | undefined;
}

/** Throws `source_rejected` for a response that counts as empty or skipped, because that is not a job. */
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

/** Error rules read JSON for every report format. */
const withResponse = (source: Source, errors: readonly ErrorRule[] | undefined): Source => ({
  ...source,
  resource: {
    ...source.resource,
    errors: errors === undefined ? source.resource.errors : [...errors],
    response: { ...source.resource.response, decoder: 'json' },
  },
});
