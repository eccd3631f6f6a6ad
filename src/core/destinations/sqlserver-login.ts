import { setTimeout as delay } from 'node:timers/promises';
import type { SqlServerOptions } from './sqlserver-address.ts';
import { type ContainedOptions, openSession } from './sqlserver-contained.ts';
import { isDatabaseAway } from './sqlserver-errors.ts';
import type { Session } from './sqlserver-session.ts';

type LoginOptions = Omit<ContainedOptions, 'login'>;

/**
 * Shares of `connectMs` between logins to a database that is not there: as long in all as one login may take. While it
 * fails over to another server, a database does not exist for some seconds.
 */
const pauses: readonly number[] = [0.05, 0.1, 0.2, 0.3, 0.35];

/** Opens a session. */
export async function logIn({ address, identity }: SqlServerOptions, options: LoginOptions): Promise<Session> {
  for (const pause of pauses) {
    try {
      return await openSession(address, { ...options, login: identity });
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      await delay(pause * options.limits.connectMs);
    }
  }
  return await openSession(address, { ...options, login: identity });
}
