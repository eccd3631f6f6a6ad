import { currentProcess, outside, type Scheduler, type SimProcess } from './scheduler.ts';

/** How an effect may go wrong. */
type Fault = 'none' | 'before' | 'after';

/** What a simulation counts, by name. */
export type Counts = Map<string, number>;

/** One more of what the name says. */
export const count = (counts: Counts, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

/** How effects of a kind travel. */
export interface Route {
  /** For the counts. */
  readonly name: string;
  /** Probability that the request does not arrive, or that its response is lost. */
  readonly faults: number;
  /** Of a request or a response, ms. */
  readonly latencyMs: readonly [from: number, to: number];
  /** Probability that it takes long, and how long, ms. */
  readonly slow?: readonly [probability: number, ms: number];
  /** What the caller gets when it does not arrive. */
  readonly failure: () => Error;
  readonly signal?: AbortSignal;
  /** It has its own line in a trace. */
  readonly isQuiet?: boolean;
}

/** Has another party do something. */
export type Effect = <Result>(route: Route, work: () => Result) => Promise<Result>;

interface EffectOptions {
  readonly scheduler: Scheduler;
  readonly counts: Counts;
  /** Nothing goes wrong any more. */
  readonly isCalm: () => boolean;
  /** Takes a line for each effect. */
  readonly say: (line: string) => void;
  /** Called with a process that has just sent a request, or is about to get a response: it may die here, or freeze. */
  readonly atAwait: (process: SimProcess) => void;
}

/** Effects between parties. */
export function createEffects({ scheduler, counts, isCalm, say, atAwait }: EffectOptions): Effect {
  const { random } = scheduler;
  let sent = 0;
  let latestArrived = 0;
  const latency = ({ latencyMs: [from, to], slow }: Route): number =>
    slow && !isCalm() && random.chance(slow[0]) ? random.between(to, slow[1]) : random.between(from, to);
  const faultOf = ({ faults }: Route): Fault => {
    if (isCalm() || !random.chance(faults)) return 'none';
    return random.chance(0.5) ? 'before' : 'after';
  };
  return <Result>(route: Route, work: () => Result): Promise<Result> => {
    const process = currentProcess();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const respond = (settle: () => void): void => {
      scheduler.after(latency(route), settle, process);
      atAwait(process);
    };
    const fault = faultOf(route);
    sent += 1;
    const no = sent;
    const { signal } = route;
    const abort = (): void => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    // What is sent arrives, or not, whatever happens to the sender meanwhile.
    scheduler.after(
      latency(route),
      () => {
        if (!process.alive && random.chance(0.5)) return;
        if (no < latestArrived) count(counts, 'effects that arrive after later ones');
        latestArrived = Math.max(latestArrived, no);
        if (!route.isQuiet) say(`${route.name} by ${process.name}${fault === 'none' ? '' : `: fails ${fault}`}`);
        if (fault !== 'none') count(counts, `${route.name} failed ${fault}`);
        if (fault === 'before') return respond(() => reject(route.failure()));
        try {
          const result = work();
          respond(() => (fault === 'after' ? reject(route.failure()) : resolve(result)));
        } catch (error) {
          respond(() => reject(error));
        }
      },
      outside,
    );
    scheduler.after(0, () => atAwait(process), process);
    return promise;
  };
}
