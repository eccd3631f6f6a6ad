import { fingerprintOf } from '../crypto/digest.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { isJsonObject } from '../json/is-json-object.ts';
import { storableJson } from '../json/storable-json.ts';
import type { RecordIssue } from '../json-schema/validate.ts';
import type { QuarantineEntry } from '../model/receipt.ts';
import type { Retry } from '../model/record-page.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';

/** Masks secrets: an API may echo a credential into a record, and stored records are shown. */
export type Redact = (text: string) => string;

/** How records are stored that may repeat a secret: masked, and sealed for another try. */
export interface Masking {
  readonly redact: Redact;
  /** Seals what only a later run may read. */
  readonly seal: (text: string) => string;
}

interface StoredRecord {
  readonly raw: unknown;
  readonly each: Readonly<Record<string, unknown>>;
  /** See `QuarantineEntry.sealed`; the record is masked already. */
  readonly sealed?: string | undefined;
}

interface KeptBack extends StoredRecord {
  readonly externalId: string;
  /** The row that it comes from and that opens again; undefined if it was fetched. */
  readonly retry: Retry | undefined;
  /** In mode append, each version has a row of its own. */
  readonly everyVersion: boolean;
}

/** The quarantine row of a record that was not delivered, with secrets masked in all its texts. */
export function quarantineEntry(
  { externalId, raw, each, sealed, retry, everyVersion }: KeptBack,
  errors: readonly RecordIssue[],
  masking: Masking,
): QuarantineEntry {
  const { redact } = masking;
  return {
    id: retry?.id ?? newId('quar'),
    externalId,
    ...(retry ? nothing : maskedRecord({ raw, each, sealed }, masking)),
    errors: errors.map((error) => ({ ...error, path: redact(error.path), message: redact(error.message) })),
    version: everyVersion ? (retry?.version ?? versionOf(raw, redact)) : '',
    isAgain: retry !== undefined,
  };
}

/** The row of a retried record has it, perhaps masked for secrets that are no longer known. */
const nothing = { rawJson: 'null', each: {} } as const;

/** A record with its secrets masked, and sealed beside that if there are any. */
export function maskedRecord(
  { raw, each, sealed }: StoredRecord,
  { redact, seal }: Masking,
): Pick<QuarantineEntry, 'rawJson' | 'each' | 'sealed'> {
  const [rawJson, eachJson] = [storableJson(raw, redact), storableJson(each, redact)];
  const masked = { rawJson, each: JSON.parse(eachJson) };
  if (sealed !== undefined) return { ...masked, sealed };
  const [rawPlain, eachPlain] = [storableJson(raw), storableJson(each)];
  if (rawJson === rawPlain && eachJson === eachPlain) return masked;
  return { ...masked, sealed: seal(`{"raw":${rawPlain},"each":${eachPlain}}`) };
}

/** A digest of a record as quarantine keeps it, independent of spec and order of names. */
export const versionOf = (raw: unknown, redact: Redact): string =>
  fingerprintOf(canonicalJson(JSON.parse(storableJson(raw, redact))));

/**
 * The error of a run whose resource does not allow invalid records. Carries neither a value nor a name that only the record
 * has: `*` stands for it.
 */
export function invalidRecord(
  { key, primaryKey = [], validate }: Pick<Resource, 'key'> & Partial<Pick<Resource, 'primaryKey' | 'validate'>>,
  issues: readonly RecordIssue[],
  redact: Redact,
): AppError {
  const [first] = issues;
  const declared = declaredNames(
    validate?.schema,
    primaryKey.flatMap((field) => field.split('.')),
  );
  const path = first?.path.split('.').map((step) => (declared.has(step) ? step : '*'));
  const where = path && first?.path ? ` at "${redact(path.join('.'))}"` : '';
  return new AppError(
    'record_invalid',
    `A record of ${key} is invalid${where}: ${redact(first?.message ?? 'no detail')}. ` +
      'Correct the spec, or set onInvalid to "quarantine" to quarantine such records and continue.',
  );
}

/** The names of properties anywhere in a JSON schema, and others. */
function declaredNames(schema: unknown, others: readonly string[]): ReadonlySet<string> {
  const names = new Set(others);
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, value] of Object.entries(part)) {
      if (name === 'properties' && isJsonObject(value)) for (const property of Object.keys(value)) names.add(property);
      walk(value);
    }
  };
  walk(schema);
  return names;
}
