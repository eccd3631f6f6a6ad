import { Refusal } from '../refusal.ts';

export function refuse(path: string, reason: string): never {
  throw new Refusal(reason, path);
}
