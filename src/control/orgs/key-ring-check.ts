import { setTimeout as sleep } from 'node:timers/promises';
import { addCanary, findCanaries } from '../../../db/queries/orgs/canary.ts';
import type { SealedSecret } from '../../core/crypto/secret-box.ts';
import type { Deps } from '../../deps.ts';

/** Continuing with this ring would seal secrets that no other process can open, or lack a key that is needed. */
export class WrongKeyRingError extends Error {
  override readonly name = 'WrongKeyRingError';
}

/** A canary belongs to no org and no owner; its borrowed kind must stay, or a stored canary would not open. */
const nowhere = { orgId: '-', ownerId: '-', kind: 'params-secret' } as const;

/**
 * Opens the canary of each key that may be needed, and adds one for the current key. Waits while the database is away or not yet
 * migrated, so that a process may start before them.
 * @throws WrongKeyRingError when the ring does not open each.
 */
export async function checkKeyRing(
  { db, secretBox, log }: Pick<Deps, 'db' | 'secretBox' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = 250; !signal.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
    try {
      return await addCanary(db, secretBox.seal('canary', nowhere), (known) => {
        const missing = unopened(secretBox, known);
        if (missing.length > 0) throw new WrongKeyRingError(`SECRETS_KEYS ${needs(missing)}`);
      });
    } catch (error) {
      if (error instanceof WrongKeyRingError) throw error;
      log.warn('database not ready; trying again (is it migrated? npm run migrate)', { waitMs, error });
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

const needs = (kekIds: readonly string[]): string =>
  `cannot decrypt what is stored: ${kekIds.join(', ')} is missing or has other bytes. Set the keys that encrypted it; \`keys status\` says when one may be removed`;

/** Keys that may be needed and that the ring lacks; `null` if nothing is stored yet. */
export async function findMissingKeys({
  db,
  secretBox,
}: Pick<Deps, 'db' | 'secretBox'>): Promise<readonly string[] | null> {
  const known = await findCanaries(db);
  return known.length === 0 ? null : unopened(secretBox, known);
}

const unopened = (secretBox: Deps['secretBox'], canaries: readonly SealedSecret[]): readonly string[] =>
  canaries.flatMap((canary) => {
    try {
      secretBox.open(canary, nowhere);
      return [];
    } catch {
      return [canary.kekId];
    }
  });
