import type { PostedRecord } from './posted.ts';
import type { Random } from './random.ts';

/** What a receiver makes of a record; `poison`: it refuses every request that contains the record, and names none. */
export type Fate = 'accept' | 'reject' | 'retry' | 'poison';

/** `once`: refused, and accepted when it comes again; `twice`: it is refused then too. */
type Decided = Exclude<Fate, 'retry'> | 'once' | 'twice';

/**
 * Decides on each version of a record when it arrives first, and keeps to that. A deletion is accepted once all is calm.
 *
 * @returns the fate of a record; `isLast`: it came once more.
 */
export function createFates(random: Random, isCalm: () => boolean): (record: PostedRecord, isLast: boolean) => Fate {
  const decided = new Map<string, Decided>();
  const decide = (isDelete: boolean): Decided => {
    if (isCalm() || random.chance(0.96)) return 'accept';
    return random.pick(
      isDelete ? (['reject', 'once', 'twice'] as const) : (['reject', 'once', 'once', 'twice', 'poison'] as const),
    );
  };
  return ({ externalId, hash }, isLast) => {
    const key = `${externalId}/${hash}`;
    const isLate = hash === undefined && isCalm();
    const fate = isLate ? 'accept' : (decided.get(key) ?? decide(hash === undefined));
    decided.set(key, fate);
    if (fate === 'once') return isLast ? 'accept' : 'retry';
    return fate === 'twice' ? 'retry' : fate;
  };
}
