import { codeOf } from '../src/core/error-code.ts';
import { type DatabaseRefused, observations } from '../src/core/observations.ts';

const reasons: ReadonlyMap<string, DatabaseRefused['reason']> = new Map([
  ['53100', 'disk_full'],
  ['53300', 'too_many_connections'],
]);

export function noteRefusal(error: unknown): void {
  const reason = reasons.get(codeOf(error));
  if (reason) observations.databaseRefused.publish({ reason });
}
