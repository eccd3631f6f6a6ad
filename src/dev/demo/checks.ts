import type { Screen } from './console.ts';

export interface Checks {
  /** Records and shows whether `actual === expected`. */
  verify(what: string, actual: number | string, expected: number | string): void;
  readonly failures: readonly string[];
  readonly count: number;
}

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
