import type { Value } from './value.ts';

export interface Arguments {
  /** The argument at a position or of a name; `null` if not given. */
  get(index: number, name?: string): Value | null;
  readonly count: number;
}
