/** Records whose key repeats a secret of the connection: what identifies a record is stored and shown in many places. */

import { redactionMask } from '../http/redact.ts';
import { issueOf, type RecordIssue } from '../json-schema/validate.ts';
import { type Candidate, idOf } from '../model/candidate.ts';
import { boundedKey } from '../model/external-id.ts';
import { mapWithPauses } from '../work/map-with-pauses.ts';
import type { Redact } from './quarantine-entry.ts';

/** What tells a key that repeats a secret, and names its record without it. */
interface SecretKeyOptions {
  readonly redact: Redact;
  /** A short keyed digest: it tells such records apart, and nobody can try secrets with it. */
  readonly keyedDigest: (text: string) => string;
}

/** Why such a record is not delivered. A requeued one would come back with the mask as its key, so it is never tried again. */
const repeatsSecret = issueOf('secret_key', 'its key repeats a secret of the connection');

/** The issues of a record without a key that it could be stored under. */
export const isKeyIssue = ({ keyword }: RecordIssue): boolean =>
  keyword === 'primaryKey' || keyword === repeatsSecret.keyword;

/** The candidates of a page; one whose key repeats a secret is for the quarantine, under a masked id. */
export async function withoutSecretKeys(
  candidates: readonly Candidate[],
  options: SecretKeyOptions,
): Promise<readonly Candidate[]> {
  const all = candidates.map(idOf).join('\n');
  if (!all.includes(redactionMask) && options.redact(all) === all) return candidates;
  return await mapWithPauses(candidates, withoutSecretKey, options);
}

function withoutSecretKey(candidate: Candidate, { redact, keyedDigest }: SecretKeyOptions): Candidate {
  const { externalId, issues } = candidate;
  const masked = redact(externalId);
  // One that an earlier version of the service has quarantined has the mask as its key.
  if (masked === externalId && !externalId.includes(redactionMask)) return candidate;
  return {
    ...candidate,
    externalId: boundedKey(`${masked} ${keyedDigest(externalId)}`.trimEnd()),
    issues: [repeatsSecret, ...(issues ?? [])],
    quarantine: true,
  };
}
