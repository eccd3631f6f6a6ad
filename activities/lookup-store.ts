import { findLookupValues, putLookupValues, putSharedValues } from '../db/queries/runs/lookup-cache.ts';
import type { OrgScope } from '../db/scope.ts';
import type { SealedEchoes } from '../src/connect/sealed-echoes.ts';
import type { LookupStore, NewCachedValue } from '../src/core/source/lookups/lookup-store.ts';
import { mapWithPauses } from '../src/core/work/map-with-pauses.ts';
import type { Deps } from '../src/deps.ts';

/** A run lasts a week at most (limits.maxDurationSeconds); its own values are dropped at its end. */
const runTtlSeconds = 8 * 86_400;

const writeMax = { values: 1000, length: 8_000_000 } as const;

/** Looked-up values shared by all workers, keyed by fingerprints because keys may contain secrets. */
export function createLookupStore(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  run: {
    readonly connectionId: string;
    readonly runId: string;
    readonly echoes: Pick<SealedEchoes, 'hide' | 'reveal' | 'seal'>;
  },
): LookupStore {
  const { connectionId, echoes } = run;
  const ownerOf = (cache: 'run' | 'connection') => ({ connectionId, runId: cache === 'run' ? run.runId : null });
  return {
    async read(cache, keys) {
      const byStored = new Map(keys.map((key) => [secretBox.fingerprint(key), key]));
      const found = await findLookupValues(db, scope, { ...ownerOf(cache), keys: [...byStored.keys()] });
      return new Map(
        found.flatMap(({ key, value }) => {
          const plain = echoes.reveal(value, undefined);
          return plain === undefined ? [] : [[byStored.get(key) ?? key, plain] as const];
        }),
      );
    },
    async write(cache, values) {
      for (const part of inParts(values)) {
        const rows = await mapWithPauses(part, ({ key, text, ttlSeconds, isOpaque }) => ({
          key: secretBox.fingerprint(key),
          value: isOpaque && text !== null ? echoes.seal(text) : echoes.hide(text),
          ttlSeconds: ttlSeconds ?? runTtlSeconds,
        }));
        const kept = { ...ownerOf(cache), loadedBy: run.runId, values: rows };
        await (cache === 'connection' ? putSharedValues(db, scope, kept) : putLookupValues(db, scope, kept));
      }
    },
  };
}

function inParts(values: readonly NewCachedValue[]): readonly (readonly NewCachedValue[])[] {
  const parts: NewCachedValue[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const value of values) {
    const part = parts.at(-1);
    const size = value.text?.length ?? 0;
    if (part && part.length < writeMax.values && length + size <= writeMax.length) {
      part.push(value);
      length += size;
    } else {
      parts.push([value]);
      length = size;
    }
  }
  return parts;
}
