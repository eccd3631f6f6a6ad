/**
 * `npm run failures`: the service as processes, four customers with a schedule of every minute, and ten failures, each of which
 * is repaired after a while. Prints where and when each was noticed, which alerts follow, and what was lost or doubled. Alerts
 * are measured with the Prometheus at the path in `PROMETHEUS`. Takes 25 minutes.
 *
 *     npm run failures -- --hold 60 --only b,d   # seconds until the repair, and which of them
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eventually } from '../support/service/eventually.ts';
import setup from '../support/service/setup.ts';
import { type Drill, drillsOf } from './drills.ts';
import { orError, type Subject } from './lookout.ts';
import { type Scene, startScene } from './scene.ts';

const { values } = parseArgs({
  options: { hold: { type: 'string', default: '240' }, only: { type: 'string', default: 'a,b,c,d,e,f,g,h,i,j' } },
});
/** Between two looks, ms. */
const everyMs = 1000;
/** A repaired connection may take so long, ms. */
const recoveryMs = 180_000;
/** Of a minute; the schedules fire ten seconds later. */
const failureAtMs = 50_000;

/** A drill, and its row of the table. */
interface Outcome {
  readonly drill: Drill;
  readonly cells: readonly string[];
  readonly isFine: boolean;
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
const say = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

/** Throws with the trouble that is left when the time is over. */
const untilWell = (subjects: readonly Subject[]): Promise<boolean> =>
  eventually(
    'all is well',
    async () => {
      const troubles = await Promise.all(subjects.map((subject) => subject.trouble()));
      const left = troubles.filter((trouble) => trouble !== null);
      if (left.length > 0) throw new Error(left.join('; '));
      return true;
    },
    { timeoutMs: recoveryMs, everyMs },
  );

const total = async (counts: readonly Promise<number>[]): Promise<number> =>
  (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
const doubledOf = ({ subjects }: Drill): Promise<number> => total(subjects.map((subject) => subject.doubled()));

/** Where it shows, each with the time of the first sign, until it is repaired. */
async function watch({ key, subjects, holdMax = Infinity }: Drill, since: number): Promise<string> {
  const first = new Map<string, string>();
  while (Date.now() < since + Math.min(Number(values.hold), holdMax) * 1000) {
    for (const subject of subjects) {
      // A look that fails is made up for by the next.
      const signs = await subject.signs(since).catch(() => ({}));
      for (const [place, sign] of Object.entries<string | null>(signs)) {
        if (sign === null || first.has(place)) continue;
        first.set(place, `${place} "${sign}" ${seconds(Date.now() - since)}`);
        say(`${key}: ${first.get(place)}`);
      }
    }
    await sleep(everyMs);
  }
  return [...first.values()].join('; ') || 'nobody';
}

async function runGroup(scene: Scene, drills: readonly Drill[]): Promise<readonly Outcome[]> {
  await untilWell(scene.all);
  await sleep((60_000 + failureAtMs - (Date.now() % 60_000)) % 60_000);
  const begun = await Promise.all(
    drills.map(async (drill) => {
      const doubledBefore = await doubledOf(drill);
      await drill.cause();
      say(`${drill.key}: ${drill.failure}`);
      return { drill, doubledBefore, since: Date.now() };
    }),
  );
  const changes = scene.startChanges();
  const watched = await Promise.all(begun.map(async (one) => ({ ...one, noticed: await watch(one.drill, one.since) })));
  changes[Symbol.dispose]();
  return await Promise.all(
    watched.map(async ({ drill, doubledBefore, since, noticed }) => {
      const alerts = scene.alerts.begunSince(since);
      const repairedAt = Date.now();
      await drill.repair();
      const late = await orError(async () => ((await untilWell(drill.subjects)) ? null : ''));
      const recovered = late === null ? seconds(Date.now() - repairedAt) : 'not in time';
      say(`${drill.key}: well after ${recovered} ${late ?? ''}`);
      const lost = await total(drill.subjects.map((subject) => subject.lost()));
      const doubled = (await doubledOf(drill)) - doubledBefore;
      const cells = [`${drill.key}) ${drill.failure}`, noticed, alerts, recovered, String(lost), String(doubled)];
      return { drill, cells, isFine: late === null && lost === 0 && doubled === 0 };
    }),
  );
}

// The destinations are at the server of this run.
delete process.env['TEST_DATABASE_URL'];
const end = await setup();
try {
  await using scene = await startScene();
  say('started');
  const outcomes: Outcome[] = [];
  for (const group of drillsOf(scene)) {
    const drills = group.filter(({ key }) => values.only.split(',').includes(key));
    if (drills.length > 0) outcomes.push(...(await runGroup(scene, drills)));
  }
  const titles = ['failure', 'noticed, after', 'alerts', 'well after the repair', 'lost', 'doubled'];
  const sorted = outcomes.toSorted((one, other) => one.drill.key.localeCompare(other.drill.key));
  const rows = [titles, titles.map(() => '---'), ...sorted.map(({ cells }) => cells)];
  process.stdout.write(rows.map((cells) => `| ${cells.join(' | ')} |\n`).join(''));
  process.exitCode = outcomes.every(({ isFine }) => isFine) ? 0 : 1;
} finally {
  await end();
}
