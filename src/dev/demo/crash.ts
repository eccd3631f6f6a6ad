import type { RunRow } from '../../core/resources/run.ts';
import { count } from './console.ts';
import type { Scene } from './scene.ts';
import type { Service } from './service.ts';
import { pageSize } from './specs.ts';
import { firstSync, type SyncFacts } from './story.ts';

export interface CrashFacts {
  readonly kills: number;
  /** Pages complete at the destination at a kill, but fetched again; promised: 0. */
  readonly completePagesFetchedAgain: number;
  /** Pages fetched but not yet delivered at a kill, and so fetched again. */
  readonly pagesInFlight: number;
  readonly rowsInsertedAgain: number;
  readonly rowsUpdated: number;
}

/**
 * Kills the worker at a third and at two thirds of the pages of the first sync. Checked from outside: by the upstream's
 * journal and by triggers on the destination's table.
 */
export async function crashSync(
  scene: Scene,
  connectionId: string,
  service: Pick<Service, 'workerPid' | 'killWorker'>,
): Promise<{ readonly run: SyncFacts; readonly crash: CrashFacts }> {
  const { screen, checks, destination, upstream, recordCount } = scene;
  await destination.startAudit();
  const pages = Math.ceil(recordCount / pageSize);
  const marks = [Math.floor(pages / 3), Math.floor((2 * pages) / 3)];
  const kills: Kill[] = [];
  const watch = async (_run: RunRow): Promise<void> => {
    const mark = marks[kills.length];
    const served = upstream.journal().pages;
    if (mark === undefined || Object.keys(served).length < mark) return;
    const pid = service.workerPid();
    if (pid === null) return;
    await service.killWorker();
    const completePages = Math.floor((await destination.greatestId(connectionId)) / pageSize);
    kills.push({ completePages, served: upstream.journal().pages });
    screen.step(`kill -9 ${pid} (the worker): ${count(completePages)} of ${count(pages)} pages complete`);
  };
  const run = await firstSync(scene, connectionId, watch);

  const served = upstream.journal().pages;
  const audit = await destination.readAudit(connectionId);
  const crash = {
    kills: kills.length,
    completePagesFetchedAgain: kills.reduce((sum, kill) => sum + completeFetchedAgain(kill, served), 0),
    pagesInFlight: Object.values(served).filter((times) => times > 1).length,
    rowsInsertedAgain: audit.insertedAgain,
    rowsUpdated: audit.updates,
  };
  screen.note(`${crash.pagesInFlight} pages were in flight at the kills and fetched again`);
  checks.verify('worker killed', crash.kills, marks.length);
  checks.verify('complete pages fetched again', crash.completePagesFetchedAgain, 0);
  checks.verify('rows in the audit of the table', audit.rows, run.recordsOut);
  checks.verify('rows inserted twice', crash.rowsInsertedAgain, 0);
  checks.verify('rows updated', crash.rowsUpdated, 0);
  return { run, crash };
}

interface Kill {
  /** Based on the destination: ids are positions, and pages are delivered in order. */
  readonly completePages: number;
  readonly served: Readonly<Record<string, number>>;
}

const completeFetchedAgain = (kill: Kill, served: Readonly<Record<string, number>>): number =>
  Object.entries(kill.served).filter(
    ([url, times]) => pageNumberOf(url) <= kill.completePages && (served[url] ?? 0) > times,
  ).length;

const pageNumberOf = (url: string): number => Number(new URL(url, 'http://upstream').searchParams.get('page') ?? 1);
