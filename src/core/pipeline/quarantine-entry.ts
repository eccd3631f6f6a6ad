import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { storableJson } from '../json/storable-json.ts';
import type { RecordIssue } from '../json-schema/validate.ts';
import type { QuarantineEntry } from '../model/receipt.ts';

/** Masks secrets: an API may echo a credential into a record, and stored records are shown. */
export type Redact = (text: string) => string;

/**
 * The quarantine row of a record that was not delivered; `redact` masks secrets in all its texts. `each`: the values
 * of its partition.
 */
export const quarantineEntry = (
  {
    externalId,
    raw,
    each,
  }: { readonly externalId: string; readonly raw: unknown; readonly each: Readonly<Record<string, unknown>> },
  errors: readonly RecordIssue[],
  redact: Redact,
): QuarantineEntry => ({
  id: newId('quar'),
  externalId,
  rawJson: storableJson(raw, redact),
  each: JSON.parse(storableJson(each, redact)),
  errors: errors.map((error) => ({ ...error, path: redact(error.path), message: redact(error.message) })),
});

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
