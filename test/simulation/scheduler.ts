/**
 * The one scheduler of a simulation. Time is virtual: an event happens when all before it have happened and all code that
 * they let go on waits again. Every effect on another party is an event, and so are timers. So a seed decides every
 * interleaving, and the same seed gives the same one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as realTurn } from 'node:timers';
import type { Random } from './random.ts';

/** A process that can die or freeze. Code that no process runs belongs to parties that are always there. */
export interface SimProcess {
  readonly name: string;
  alive: boolean;
  /** Nothing of it happens before this time, ms. */
  frozenUntil: number;
}

/** A party that is always there. */
export const outside: SimProcess = { name: 'outside', alive: true, frozenUntil: 0 };

/** An event that is to come. */
export interface Planned {
  cancel(): void;
}

interface Event {
  readonly at: number;
  /** Decides between events of the same time. */
  readonly order: number;
  readonly process: SimProcess;
  readonly happen: () => void;
  canceled: boolean;
}

/** The clock and all that is to come. */
export interface Scheduler {
  readonly random: Random;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Plans an event; it does not happen if its process dies before, and later if the process is frozen. */
  after(ms: number, happen: () => void, process?: SimProcess): Planned;
  /** Lets events happen until `isOver`, or until none is left. Returns how many happened. Throws after `eventsMax`. */
  run(isOver: () => boolean, eventsMax: number): Promise<number>;
  /** Moves the clock without letting anything happen. */
  jump(ms: number): void;
}

const running = new AsyncLocalStorage<SimProcess>();

/** The process whose code runs. */
export const currentProcess = (): SimProcess => running.getStore() ?? outside;

/** Runs code as part of a process. */
export const inProcess = <Result>(process: SimProcess, work: () => Result): Result => running.run(process, work);

/** Starts at 2026-01-01. */
export function createScheduler(random: Random): Scheduler {
  let now = Date.UTC(2026, 0, 1);
  const events: Event[] = [];
  const add = (event: Event): void => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(event, events[middle])) high = middle;
      else low = middle + 1;
    }
    events.splice(low, 0, event);
  };
  return {
    random,
    now: () => now,
    after(ms, happen, process = outside) {
      const event = { at: now + Math.max(0, ms), order: random.next(), process, happen, canceled: false };
      add(event);
      return {
        cancel() {
          event.canceled = true;
        },
      };
    },
    async run(isOver, eventsMax) {
      let happened = 0;
      while (!isOver()) {
        const event = events.shift();
        if (!event) break;
        if (event.canceled || !event.process.alive) continue;
        now = Math.max(now, event.at);
        if (event.process.frozenUntil > now) {
          add({ ...event, at: event.process.frozenUntil });
          continue;
        }
        happened += 1;
        if (happened > eventsMax) throw new Error(`Not over after ${eventsMax} events`);
        running.run(event.process, event.happen);
        await settled();
      }
      return happened;
    },
    jump(ms) {
      now += ms;
    },
  };
}

const isBefore = (one: Event, other: Event | undefined): boolean =>
  other === undefined || one.at < other.at || (one.at === other.at && one.order < other.order);

/** Resolves when no code can go on without an event: nothing of the engine waits for anything real. */
const settled = (): Promise<void> => new Promise((resolve) => realTurn(resolve));
