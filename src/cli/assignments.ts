import { usageError } from './command-error.ts';

/** A `name=value` of the command line. */
export interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** Reads `name=value`. Throws usage errors, which do not repeat the value. */
export function parseAssignment(option: string, text: string): Assignment {
  const at = text.indexOf('=');
  if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) };
  throw usageError(`${option} takes name=value.`);
}

/** A whole number from 1. Throws usage errors. */
export function parseCount(option: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw usageError(`${option} takes a whole number from 1.`);
}
