import { fingerprintOf } from '../crypto/digest.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { storableJson } from '../json/storable-json.ts';
import type { RecordIssue } from '../json-schema/validate.ts';
import type { QuarantineEntry } from '../model/receipt.ts';
import type { Retry } from '../model/record-page.ts';

/** Masks secrets: an API may echo a credential into a record, and stored records are shown. */
export type Redact = (text: string) => string;

/** A record that was not delivered. */
interface KeptBack {
  readonly externalId: string;
  readonly raw: unknown;
  /** The values of its partition. */
  readonly each: Readonly<Record<string, unknown>>;
  /** The row that it comes from, which is to be open again; undefined: it was fetched. */
  readonly retry: Retry | undefined;
  /** Whether each of its versions has a row of its own, as the table is appended to. */
  readonly everyVersion: boolean;
}

/** The quarantine row of a record that was not delivered; `redact` masks secrets in all its texts. */
export function quarantineEntry(
  { externalId, raw, each, retry, everyVersion }: KeptBack,
  errors: readonly RecordIssue[],
  redact: Redact,
): QuarantineEntry {
  return {
    id: retry?.id ?? newId('quar'),
    externalId,
    rawJson: storableJson(raw, redact),
    each: JSON.parse(storableJson(each, redact)),
    errors: errors.map((error) => ({ ...error, path: redact(error.path), message: redact(error.message) })),
    version: everyVersion ? (retry?.version ?? versionOf(raw, redact)) : '',
    isAgain: retry !== undefined,
  };
}

/** A digest of a record as quarantine keeps it: it depends on no spec, and on no order of names. */
export const versionOf = (raw: unknown, redact: Redact): string =>
  fingerprintOf(canonicalJson(JSON.parse(storableJson(raw, redact))));

/** The failure of a run whose resource does not allow an invalid record. It never carries a value. */
export function invalidRecord(resourceKey: string, issues: readonly RecordIssue[], redact: Redact): AppError {
  const [first] = issues;
  const where = first?.path ? ` at "${redact(first.path)}"` : '';
  return new AppError(
    'record_invalid',
    `A record of ${resourceKey} is invalid${where}: ${redact(first?.message ?? 'no detail')}. ` +
      'Correct the spec, or set onInvalid to "quarantine" to quarantine such records and continue.',
  );
}
