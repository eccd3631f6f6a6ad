import { Refusal } from '../refusal.ts';

/** Throws a {@link Refusal}. */
export function refuse(path: string, reason: string): never {
  throw new Refusal(reason, path);
}
