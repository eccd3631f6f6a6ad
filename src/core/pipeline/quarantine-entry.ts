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

interface KeptBack {
  readonly externalId: string;
  readonly raw: unknown;
  readonly each: Readonly<Record<string, unknown>>;
  /** The row that it comes from and that opens again; undefined if it was fetched. */
  readonly retry: Retry | undefined;
  /** In mode append, each version has a row of its own. */
  readonly everyVersion: boolean;
}

/** The quarantine row of a record that was not delivered, with secrets masked in all its texts. */
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

/** A digest of a record as quarantine keeps it, independent of spec and order of names. */
export const versionOf = (raw: unknown, redact: Redact): string =>
  fingerprintOf(canonicalJson(JSON.parse(storableJson(raw, redact))));

/** The error of a run whose resource does not allow invalid records; never carries a value. */
export function invalidRecord(resourceKey: string, issues: readonly RecordIssue[], redact: Redact): AppError {
  const [first] = issues;
  const where = first?.path ? ` at "${redact(first.path)}"` : '';
  return new AppError(
    'record_invalid',
    `A record of ${resourceKey} is invalid${where}: ${redact(first?.message ?? 'no detail')}. ` +
      'Correct the spec, or set onInvalid to "quarantine" to quarantine such records and continue.',
  );
}
