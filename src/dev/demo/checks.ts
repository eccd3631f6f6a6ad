import type { Screen } from './console.ts';

/** Every number that the demo promises, with what it came to. */
export interface Checks {
  /** Shows and keeps whether `actual` is `expected`; numbers and texts are compared by `===`. */
  verify(what: string, actual: number | string, expected: number | string): void;
  /** What was not as promised, in the order of the story; empty when all was. */
  readonly failures: readonly string[];
  /** How many were verified. */
  readonly count: number;
}

/** Checks that are shown on `screen`. */
export function createChecks(screen: Pick<Screen, 'note'>): Checks {
  const failures: string[] = [];
  let verified = 0;
  return {
    failures,
    get count() {
      return verified;
    },
    verify: (what, actual, expected) => {
      verified += 1;
      if (actual === expected) return screen.note(`✓ ${what}: ${show(actual)}`);
      failures.push(`${what}: ${show(actual)}, expected ${show(expected)}`);
      screen.note(`✗ ${failures.at(-1)}`);
    },
  };
}

const show = (value: number | string): string => (typeof value === 'number' ? value.toLocaleString('en-US') : value);
