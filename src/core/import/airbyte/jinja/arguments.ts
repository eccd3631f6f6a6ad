import type { Value } from './value.ts';

/** The arguments of a call, compiled. */
export interface Arguments {
  /** The argument at a position or of a name; null: not given. */
  get(index: number, name?: string): Value | null;
  readonly count: number;
}
