import { setTimeout as delay } from 'node:timers/promises';
import type { SqlServerLogin, SqlServerOptions } from '../address.ts';
import { isDatabaseAway, isLoginRefused } from '../server-error.ts';
import { openSession } from './contained.ts';
import { type EntraDeps, entraToken } from './entra.ts';
import type { Session, SessionLimits } from './session.ts';

interface LoginOptions extends EntraDeps {
  readonly limits: SessionLimits;
}

/**
 * Shares of `connectMs` between logins to a missing database; in all as long as one login may take. During a failover to another
 * server, a database does not exist for some seconds.
 */
const pauses: readonly number[] = [0.05, 0.1, 0.2, 0.3, 0.35];

/** A kept token that is refused is replaced once. */
export async function logIn({ address, identity }: SqlServerOptions, options: LoginOptions): Promise<Session> {
  const open = async (login: SqlServerLogin): Promise<Session> => {
    for (const pause of pauses) {
      try {
        return await openSession(address, { ...options, login });
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        await delay(pause * options.limits.connectMs);
      }
    }
    return await openSession(address, { ...options, login });
  };
  if (!('kind' in identity)) return await open(identity);
  const { token, isKept } = await entraToken(identity, options);
  try {
    return await open({ token });
  } catch (error) {
    if (!isKept || !isLoginRefused(error)) throw error;
    const { token: renewed } = await entraToken(identity, options, token);
    return await open({ token: renewed });
  }
}
