/** What processes use up: CPU seconds of whole trees of them. Linux only. */
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

/** Processes by a name of our own; each stands for itself and everything it started. */
export type Roots<Name extends string> = Readonly<Record<Name, number>>;

/** What a piece of work took. */
export interface Usage<Name extends string> {
  readonly seconds: number;
  /** CPU seconds by name, in steps of 0.01. */
  readonly cpu: Readonly<Record<Name, number>>;
  /** Share of the machine's CPU that went to neither these processes nor this one and what it started: 0 to 1. */
  readonly noise: number;
}

/** Does the work and tells what it took. A process that is replaced meanwhile is missing from the figures. */
export async function usageOf<Name extends string, Result>(
  roots: Roots<Name>,
  work: () => Promise<Result>,
): Promise<Usage<Name> & { readonly result: Result }> {
  const before = await takeReading(roots);
  const startedAt = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await takeReading(roots);
  const cpu = mapValues(roots, (_pid, name) => after.cpu[name] - before.cpu[name]);
  const elsewhere = after.busy - before.busy - (after.known - before.known);
  return { seconds, cpu, noise: Math.max(0, elsewhere / (after.total - before.total)), result };
}

/** The server process behind a URL, which every session is a child of. The server has to run on this machine. */
export async function postgresPid(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const session = rows[0] && (await statOf(rows[0].pid));
  await client.end();
  if (!session) throw new Error('TEST_DATABASE_URL is of another machine: CPU seconds cannot be counted.');
  return session.parent;
}

/** All in CPU seconds. */
async function takeReading<Name extends string>(roots: Roots<Name>) {
  const all = new Map<number, Stat>();
  for (const entry of await readdir('/proc')) {
    const stat = /^\d+$/.test(entry) ? await statOf(Number(entry)) : null;
    if (stat) all.set(Number(entry), stat);
  }
  const treeOf = (pid: number): readonly number[] => {
    const children = [...all].filter(([, { parent }]) => parent === pid);
    return [pid, ...children.flatMap(([child]) => treeOf(child))];
  };
  const secondsOf = (pids: Iterable<number>): number =>
    [...pids].reduce((sum, pid) => sum + (all.get(pid)?.seconds ?? 0), 0);
  const known = new Set([process.pid, ...Object.values<number>(roots)].flatMap(treeOf));
  return { cpu: mapValues(roots, (pid) => secondsOf(treeOf(pid))), known: secondsOf(known), ...(await machine()) };
}

/** What all processors together did and could have done since the machine was started, CPU seconds. */
async function machine() {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is in the first two already.
  const ticks = line.split(/ +/).slice(1, 9).map(Number);
  const total = ticks.reduce((sum, value) => sum + value, 0) / ticksPerSecond;
  const idle = ((ticks[3] ?? 0) + (ticks[4] ?? 0)) / ticksPerSecond;
  return { total, busy: total - idle };
}

function mapValues<Name extends string>(
  roots: Roots<Name>,
  of: (pid: number, name: Name) => number,
): Record<Name, number> {
  const names = Object.keys(roots) as Name[];
  return Object.fromEntries(names.map((name) => [name, of(roots[name], name)])) as Record<Name, number>;
}

interface Stat {
  readonly parent: number;
  /** CPU of its own and of its children that have ended. */
  readonly seconds: number;
}

/** `USER_HZ`, which is 100 on every Linux of today. */
const ticksPerSecond = 100;

/** Null: it has ended. */
async function statOf(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The name of the program, in brackets, may hold anything; state and parent follow it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), seconds: ticks / ticksPerSecond };
}
