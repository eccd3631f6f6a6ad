/**
 * The reports of the customer's API. Each is made in the background, of the records as they are at some moment until it is
 * ready. It may fail, take too long, have its files cut anew, and be forgotten.
 */
import { AppError } from '../../src/core/errors.ts';
import type { HttpRequest } from '../../src/core/model/http.ts';
import { type Counts, count } from './effects.ts';
import type { ApiRecord, ApiResponse, Collection } from './records.ts';
import type { Scheduler } from './scheduler.ts';

/** The part of the API that makes reports. */
export interface Reports {
  /** Null: the request is about something else. */
  respond(request: HttpRequest): ApiResponse | null;
}

interface ReportsOptions {
  readonly scheduler: Scheduler;
  readonly counts: Counts;
  readonly isCalm: () => boolean;
  /** Those that reports are made of. */
  readonly records: Collection;
  /** Records on a page, at most. */
  readonly pageSize: number;
}

interface Job {
  readonly id: string;
  readonly readyAt: number;
  readonly fails: boolean;
  /** Null: they were not looked at yet. */
  records: readonly ApiRecord[] | null;
  /** Looks at them, once. */
  readonly look: () => readonly ApiRecord[];
  /** Records in a file. */
  fileSize: number;
  polls: number;
}

/** No report was asked for yet. */
export function createReports({ scheduler, counts, isCalm, records, pageSize }: ReportsOptions): Reports {
  const { random, now } = scheduler;
  const jobs = new Map<string, Job>();
  /** Jobs by the key that they were asked for with. */
  const byKey = new Map<string, Job>();
  const isTroubled = (probability: number): boolean => !isCalm() && random.chance(probability);

  const create = ({ from, to }: { readonly from: number; readonly to: number }): Job => {
    const takesMs = isTroubled(0.05) ? 60_000 : random.between(0, 4000);
    const job: Job = {
      id: `j${jobs.size + 1}`,
      readyAt: now() + takesMs,
      fails: isTroubled(0.05),
      records: null,
      look() {
        job.records ??= [...records.values()].filter(({ at }) => from <= at && at <= to);
        return job.records;
      },
      fileSize: random.between(1, 20),
      polls: 0,
    };
    scheduler.after(random.between(0, takesMs), () => void job.look());
    jobs.set(job.id, job);
    count(counts, 'reports created');
    return job;
  };

  const state = (job: Job): object => {
    if (now() < job.readyAt) return { status: 'running' };
    if (job.fails) return { status: 'failed' };
    job.polls += 1;
    if (isTroubled(0.05)) job.fileSize = random.between(1, 20);
    // A clock that jumps makes it ready before it has looked.
    const all = job.look();
    const { id, fileSize, polls } = job;
    // Addresses and signatures are new with each poll.
    const files = Array.from(
      { length: Math.ceil(all.length / fileSize) },
      (_, no) => `${no}/${fileSize}?sign=${polls}`,
    );
    return { status: 'done', count: all.length, files, address: `${id}.${polls}` };
  };

  const pageOf = ({ look, fileSize }: Job, url: URL): ApiResponse => {
    const all = look();
    if (all.length === 0) return { status: 204, body: {} };
    const [no = 0, size = fileSize] = url.searchParams.get('file')?.split(/[/?]/).map(Number) ?? [0, all.length];
    const after = Number(url.searchParams.get('after') ?? 0);
    if (after > 0 && isTroubled(0.02)) return { status: 410, body: {} };
    const next = after + Math.min(pageSize, Number(url.searchParams.get('limit')));
    const file = all.slice(no * size, (no + 1) * size);
    return { status: 200, body: { data: file.slice(after, next), next: next < file.length ? String(next) : null } };
  };

  return {
    respond({ url, headers, body }) {
      const [, place, address = ''] = url.pathname.split('/');
      if (place !== 'jobs' && place !== 'files') return null;
      if (address === '') {
        const key = headers['idempotency-key'] ?? '';
        const known = isTroubled(0.1) ? undefined : byKey.get(key);
        if (known) count(counts, 'reports asked for again');
        const job = known ?? create(JSON.parse(body ?? ''));
        byKey.set(key, job);
        // Its gateway does not wait for it.
        if (isTroubled(0.1)) throw new AppError('source_unavailable', 'The API responded with 504.');
        return { status: 201, body: { id: job.id } };
      }
      const job = jobs.get(address.split('.')[0] ?? '');
      if (!job || isTroubled(0.01)) return { status: 404, body: {} };
      return place === 'jobs' ? { status: 200, body: state(job) } : pageOf(job, url);
    },
  };
}
