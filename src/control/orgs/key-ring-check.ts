import { setTimeout as sleep } from 'node:timers/promises';
import { findCanary, keepCanary, putCanaryKey } from '../../../db/queries/orgs/canary.ts';
import type { Deps } from '../../deps.ts';

/** Continuing with this ring would seal secrets that no other process can open. */
export class WrongKeyRingError extends Error {
  override readonly name = 'WrongKeyRingError';
}

/** The canary belongs to no org and no owner; its borrowed kind must stay, or a stored canary would not open. */
const nowhere = { orgId: '-', ownerId: '-', kind: 'params-secret' } as const;

/**
 * Opens the canary, which the first process made. Waits while the database is away or not yet migrated, so that a process may
 * start before them.
 * @throws WrongKeyRingError when the ring does not open it.
 */
export async function checkKeyRing(
  { db, secretBox, log }: Pick<Deps, 'db' | 'secretBox' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = 250; !signal.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
    try {
      const canary = await keepCanary(db, secretBox.seal('canary', nowhere));
      return openCanary(() => secretBox.open(canary, nowhere));
    } catch (error) {
      if (error instanceof WrongKeyRingError) throw error;
      log.warn('database not ready; trying again (is it migrated? npm run migrate)', { waitMs, error });
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** `null` if no canary exists yet; does not make one. */
export async function opensCanary({ db, secretBox }: Pick<Deps, 'db' | 'secretBox'>): Promise<boolean | null> {
  const canary = await findCanary(db);
  if (!canary) return null;
  try {
    secretBox.open(canary, nowhere);
    return true;
  } catch {
    return false;
  }
}

/** From here on no process starts without the first key of the ring. */
export async function rewrapCanary({ db, secretBox }: Pick<Deps, 'db' | 'secretBox'>): Promise<void> {
  const replaces = await keepCanary(db, secretBox.seal('canary', nowhere));
  await putCanaryKey(db, { sealed: secretBox.rewrap(replaces, nowhere), replaces });
}

function openCanary(open: () => string): void {
  try {
    open();
  } catch (error) {
    throw new WrongKeyRingError('SECRETS_KEYS cannot decrypt the stored secrets; set the keys that encrypted them', {
      cause: error,
    });
  }
}
