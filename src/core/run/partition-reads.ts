import type { ReadPosition } from '../model/read-position.ts';
import type { PartitionPosition } from '../model/run-position.ts';
import { ThrottledError } from '../model/throttled.ts';
import type { Validators } from '../model/validators.ts';
import { type PageRead, readPages } from '../source/read/read-pages.ts';
import type { JobPort } from '../source/read/report-job.ts';
import { concludesAbsence } from '../spec/connection/concludes-absence.ts';
import { changeOf } from '../spec/connection/shape-values.ts';
import { isNamedFirst } from './listed-deletions.ts';
import { partitionAt } from './partition-at.ts';
import type { Partition, RunReading, RunReadOptions } from './reading.ts';
import type { StoredPartition } from './run-store.ts';

/** A partition that is being read. */
export interface PartitionRead {
  readonly partition: Partition;
  readonly stored: StoredPartition;
  /** See {@link changeOf}. */
  readonly change: 'shape' | 'read' | null;
  readonly watermarkBefore: string | null;
  readonly pages: AsyncGenerator<PageRead, void, undefined>;
  /** Start of a first read as canonical text, known before its first request; otherwise `null`. */
  readonly firstStart: () => string | null;
  /** Position saved since `take` when a report job began, or `null`. */
  readonly savedAt: () => ReadPosition | null;
  /** Reports the position of the run, before the next page is taken. */
  readonly isAt: (position: PartitionPosition) => void;
}

/**
 * The partitions of a run in order; later ones already wait for their first responses, up to the API's concurrency. A
 * run over many small partitions would otherwise wait for one response after the other.
 */
export interface PartitionReads extends AsyncDisposable {
  /** Reads the partition at `position`, in ascending order and at most once each. */
  take(position: PartitionPosition): Promise<PartitionRead>;
}

/** Maximum partitions in progress; each may hold a few pages, so this keeps memory flat. */
const aheadMax = 4;

/** A dimension without values that stores the position of a report job. */
const jobsDimension = -1_000_000;

/** The run continues after the wait, which the timer of its workflow makes. */
async function throttle(ms: number): Promise<never> {
  throw new ThrottledError(ms, { reason: 'report' });
}

/** Opens the reads of partitions; disposing aborts the requests in progress. */
export function openPartitionReads(run: RunReading, options: RunReadOptions): PartitionReads {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const ahead = new Map<number, Promise<PartitionRead>>();
  // A job is created at the position of the run, and its id is saved there.
  const hasJob = run.resource.job !== undefined;
  const width = hasJob ? 1 : Math.min(run.source.http.rateLimit.maxConcurrent, aheadMax);
  let readNo = 0;
  const { deletes, incremental } = run.resource;
  // A read from `initial` does not show all records.
  const showsAll = incremental !== undefined && incremental.initial === undefined;
  let asked: Promise<boolean> | null = null;
  const startsOver = async (): Promise<boolean> => {
    if (deletes.mode !== 'flag') return false;
    const { backfill } = run.source;
    const isToken = incremental?.kind === 'token';
    if (backfill !== null && !(showsAll && backfill.force === true && backfill.from === null)) return false;
    // A forced backfill replaces a token that the API may have forgotten.
    if (backfill !== null && isToken) return true;
    // With a token and `initial`, the run can at least report that deletions are unknown.
    if (!showsAll && !isToken) return false;
    asked ??= run.store.startsOver();
    return await asked;
  };

  let noted: Promise<void> | null = null;
  const open = async (no: number, resumed: PartitionPosition | null): Promise<PartitionRead> => {
    const partition = await partitionAt(run, no);
    const { stored, change } = await storedPartition(run, partition);
    const watermarkBefore = resumed === null ? stored.watermark : resumed.watermarkBefore;
    const readsBefore = change !== null || (partition.key !== '' && watermarkBefore === null);
    if (readsBefore && incremental !== undefined) await (noted ??= run.store.noteReadsBefore());
    const source = {
      ...run.source,
      each: partition.each,
      watermark: watermarkBefore,
      validators: usable(run, stored.validators),
      provesEnd: concludesAbsence(run.resource) || (run.resource.deletes.mode === 'flag' && ('again' as const)),
      earlier: stored,
      ...(change === 'shape' && { readsAll: true as const }),
      startsOver: (watermarkBefore === null || run.source.backfill !== null) && change === null && (await startsOver()),
    };
    let firstStart: string | null = null;
    let saved: ReadPosition | null = null;
    // Only the partition that is currently read sends concurrent requests.
    const mayFetchSeveral = () => no === readNo;
    let place: PartitionPosition | null = null;
    const jobs: JobPort = {
      async save(read) {
        if (place === null) throw new Error('A job begins where the run is');
        // Saving moves the position past pages, which must be recorded by then.
        await options.delivered();
        await run.store.addToDimension(jobsDimension, [], { ...place, read });
        saved = read;
      },
      wait: options.wait ?? throttle,
    };
    const onStart = (start: string | null) => {
      firstStart = start;
    };
    const how = hasJob ? { ...options, lookAhead: 0, jobs } : options;
    const pages = readPages(source, { ...how, onStart, signal, mayFetchSeveral, position: resumed?.read ?? null });
    const isAt = (at: PartitionPosition) => {
      place = at;
    };
    return {
      partition,
      stored,
      change,
      watermarkBefore,
      pages,
      isAt,
      firstStart: () => firstStart,
      savedAt: () => saved,
    };
  };
  const begin = async (no: number): Promise<PartitionRead> => {
    const read = await open(no, null);
    // The list of deleted records is read first.
    if (read.stored.watermark === null && isNamedFirst(run.resource)) return read;
    return { ...read, pages: begun(read.pages) };
  };

  return {
    async take({ no, read, watermarkBefore, totals, ...position }) {
      readNo = no;
      const resumed = read === null ? null : { no, read, watermarkBefore, totals, ...position };
      const current = ahead.get(no) ?? open(no, resumed);
      ahead.delete(no);
      for (let next = no + 1; next < Math.min(no + width, totals.count); next += 1) {
        if (ahead.has(next)) continue;
        const started = begin(next);
        // The failure surfaces at its turn; until then it must not count as unhandled.
        started.catch(() => undefined);
        ahead.set(next, started);
      }
      return await current;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      const left = await Promise.allSettled(ahead.values());
      for (const read of left) if (read.status === 'fulfilled') await end(read.value.pages);
    },
  };
}

/**
 * The stored state of a partition, as far as it applies to its current values. It has no watermark if other records are
 * read now, and no validators after any change.
 */
export async function storedPartition(
  run: RunReading,
  { key, each }: Partition,
): Promise<Pick<PartitionRead, 'stored' | 'change'>> {
  const known = await run.store.partition(key);
  const change = changeOf(known.shape, run.shapeOf(each));
  const ofOther = change === 'read' && { watermark: null, deletionsTo: null };
  return { change, stored: change === null ? known : { ...known, validators: null, ...ofOther } };
}

/** A backfill, a replaced table and a scan over all partitions need the records themselves, changed or not. */
function usable({ source, resource }: RunReading, validators: Validators | null): Validators | null {
  const { deletes, target, forEach } = resource;
  const scansAll = deletes.mode === 'full_scan' && deletes.scope === 'resource' && forEach.length > 0;
  return source.backfill !== null || target.mode === 'replace' || scansAll ? null : validators;
}

/** Ends pages that only {@link begun} may have requested: a generator runs no `finally` before it has begun. */
async function end(pages: PartitionRead['pages']): Promise<void> {
  await pages.next().catch(() => undefined);
  await pages.return();
}

function begun(pages: PartitionRead['pages']): PartitionRead['pages'] {
  const first = pages.next();
  first.catch(() => undefined);
  return (async function* () {
    try {
      for (let page = await first; !page.done; page = await pages.next()) yield page.value;
    } finally {
      await pages.return();
    }
  })();
}
