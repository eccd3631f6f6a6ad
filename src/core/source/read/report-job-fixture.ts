import { afterAll, beforeAll } from 'vitest';
import { createTestEvaluator, type TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import type { ReadPosition } from '../../model/read-position.ts';
import type { Source } from '../source.ts';
import { type Api, inQuery, sourceOf } from '../source-fixture.ts';
import { type PageRead, readPages } from './read-pages.ts';
import type { JobPort } from './report-job.ts';

export type Json = Readonly<Record<string, unknown>>;

const { signal } = new AbortController();

export const job = {
  create: { method: 'POST', path: '/jobs', headers: { 'Idempotency-Key': '{{ job.key }}' } },
  id: 'body.job.id',
  poll: { path: '/jobs/{{ job.id }}' },
  status: 'body.state',
  completed: ['done'],
  failed: ['broken'],
  values: { file: 'body.file' },
  intervalSeconds: 7,
};

/** Starts an evaluator for the file; call it at the top. */
export function useReports() {
  let evaluator: TestEvaluator;
  beforeAll(() => {
    evaluator = createTestEvaluator({ size: 1 });
  });
  afterAll(() => evaluator[Symbol.asyncDispose]());
  return (api: Pick<Api, 'origin'>, changes: Json = {}, parts: Json = {}, overrides: Partial<Source> = {}): Source =>
    sourceOf(
      {
        api,
        evaluator,
        auth: { kind: 'bearer', token: 'a-token' },
        resource: {
          request: { path: '/files/{{ job.id }}/{{ job.file }}' },
          pagination: { kind: 'offset', size: 2, inject: inQuery('offset') },
          job: { ...job, ...changes },
          ...parts,
        },
      },
      overrides,
    );
}

/** A run that ends at each wait unless `patient`, and once when it saves the id of a job if it `dies`. */
export function createRun({ patient = true, dies = false } = {}) {
  const saved: ReadPosition[] = [];
  const waits: number[] = [];
  const port: JobPort = {
    async save(position) {
      if (dies && position.job) {
        dies = false;
        throw new Error('died');
      }
      // As a database holds it.
      saved.push(JSON.parse(JSON.stringify(position)));
    },
    async wait(ms) {
      waits.push(ms);
      if (!patient) throw new Error('later');
    },
  };
  const read = async (source: Source, position: ReadPosition | null = saved.at(-1) ?? null) => {
    const pages: PageRead[] = [];
    let error: unknown = null;
    try {
      for await (const page of readPages(source, { position, signal, lookAhead: 0, jobs: port })) pages.push(page);
    } catch (failure) {
      error = failure;
    }
    return { pages, error };
  };
  return { saved, waits, read };
}

export const created = (api: Api) => api.requests.filter(({ method }) => method === 'POST');
