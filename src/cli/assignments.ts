import { usageError } from './command-error.ts';

export interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** Throws usage errors, which do not repeat the value. */
export function parseAssignment(option: string, text: string): Assignment {
  const at = text.indexOf('=');
  if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) };
  throw usageError(`${option} takes name=value.`);
}

/** Throws usage errors. */
export function parseCount(option: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw usageError(`${option} takes a whole number from 1.`);
}
