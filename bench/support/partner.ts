/** Processes that a bench starts beside the service, and how it talks to them: jobs and results over IPC. */
import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a process can be asked to do: each takes one input and returns what survives JSON. */
// oxlint-disable-next-line typescript/no-explicit-any -- the input of each job is typed by the process that has it
type Jobs = Readonly<Record<string, (input: any) => unknown>>;

/** A process of its own, so that its CPU seconds are told from everybody else's. Disposing ends it. */
export interface Partner<Own extends Jobs> extends AsyncDisposable {
  readonly pid: number;
  /** Resolves with the response; rejects with what went wrong there, or when the process ends. */
  ask<Name extends keyof Own & string>(
    name: Name,
    ...input: Parameters<Own[Name]>
  ): Promise<Awaited<ReturnType<Own[Name]>>>;
}

interface Asked {
  readonly no: number;
  readonly name: string;
  readonly input: unknown;
}
type Responded = { readonly no: number } & ({ readonly reply: unknown } | { readonly error: string });

/** Starts the file `bench/processes/<name>.ts`. */
export function startPartner<Own extends Jobs>(name: string): Partner<Own> {
  const file = new URL(`../processes/${name}.ts`, import.meta.url);
  const child = fork(file, { execArgv: [] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} could not be started`);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', (message) => {
    const replied = message as Responded;
    const asked = waiting.get(replied.no);
    waiting.delete(replied.no);
    if ('error' in replied) asked?.reject(new Error(`${name}: ${replied.error}`));
    else asked?.resolve(replied.reply);
  });
  const ended = once(child, 'exit');
  child.once('exit', () => {
    for (const asked of waiting.values()) asked.reject(new Error(`${name} has ended`));
  });
  let last = 0;
  return {
    pid,
    async ask(job, ...input) {
      const asked = Promise.withResolvers<unknown>();
      last += 1;
      waiting.set(last, asked);
      child.send({ no: last, name: job, input: input[0] } satisfies Asked);
      return (await asked.promise) as never;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** For the file of such a process: does what it is asked until the bench is gone. Returns the jobs, for their types. */
export function runJobs<Own extends Jobs>(jobs: Own): Own {
  const reply = async ({ no, name, input }: Asked): Promise<Responded> => {
    try {
      return { no, reply: await jobs[name]?.(input) };
    } catch (error) {
      return { no, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (message) => {
    // It never rejects.
    void reply(message as Asked).then((replied) => process.send?.(replied));
  });
  process.once('disconnect', () => process.exit());
  return jobs;
}
