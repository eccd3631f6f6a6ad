import { digestOf, fingerprintOf } from '../crypto/digest.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { valueAt } from '../json/dotted-path.ts';
import { findIssue } from '../json/record-gate.ts';
import { storableJson } from '../json/storable-json.ts';
import type { RecordIssue } from '../json-schema/validate.ts';
import type { Candidate } from '../model/candidate.ts';
import { type ExternalId, externalIdOf, keylessExternalId } from '../model/external-id.ts';
import { canonicalCursor } from '../source/cursor/cursor-value.ts';
import { resourceFingerprint } from '../spec/connection/resource-fingerprint.ts';
import type { StoredFields } from '../spec/connection/stored-fields.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { admittedRecord } from './admitted-record.ts';
import { createFingerprint, saltIn } from './fingerprint.ts';
import { cutRecord, excessBytes, recordBytesMaxDefault } from './record-size.ts';
import { createFieldPicker } from './stored-fields.ts';

interface IdentifyOptions {
  readonly recordBytesMax?: number;
  /** Digest of the params and tables that shape the records, empty if none do. */
  readonly shapeValues?: string;
}

/**
 * The first stage: derives the id of a raw record and whether it can pass. Never throws. The function's second argument
 * is a digest of its partition's values that shape the record, empty if none do.
 */
export function createIdentify(
  resource: Resource,
  storedFields: StoredFields | null,
  lookups: Readonly<Record<string, unknown>>,
  { recordBytesMax = recordBytesMaxDefault, shapeValues = '' }: IdentifyOptions = {},
): (raw: unknown, ofPartition: string) => Candidate {
  const { changeDetection, primaryKey } = resource;
  const { mode, field, ignore } = changeDetection;
  const salt = [
    resourceFingerprint(resource, storedFields),
    ...changeDetection.lookups.map((name) => digestOf(canonicalJson(lookups[name]))),
    ...(shapeValues === '' ? [] : [shapeValues]),
  ].join('\n');
  const fingerprint = createFingerprint({ ignore, salt });
  const versionOf = (record: unknown) => (mode === 'field' && field !== undefined ? valueAt(record, field) : null);
  const withFields = withStoredFields(resource, storedFields);
  const hashOf = (record: unknown, ofPartition: string) =>
    mode === 'none' ? null : fingerprint(withFields(record, versionOf(record) ?? record), ofPartition);
  const soundOf = mode === 'hash' && ignore.length === 0 ? admittedRecord : () => null;
  const cursorOf = createCursorReader(resource);
  const oversized = (raw: unknown, bytes: number, saltOfPage: string): Candidate => {
    const message = `is ${bytes} bytes of JSON, more than the ${recordBytesMax} that a record may have`;
    const id = externalIdOf(raw, primaryKey);
    const json = JSON.stringify(raw);
    return {
      raw: cutRecord(json, bytes),
      externalId: id.ok ? id.externalId : keylessExternalId(String(bytes)),
      hash: mode === 'none' ? null : fingerprintOf(saltOfPage + json),
      isPlain: false,
      cursor: cursorOf(raw),
      issues: [{ path: '', message, keyword: 'too_large' }, ...issuesOf(null, id)],
      data: null,
      lookups: null,
      quarantine: false,
      isDegraded: false,
      isDeleted: false,
      isFiltered: false,
    };
  };
  return (raw, ofPartition) => {
    const saltOfPage = saltIn(salt, ofPartition);
    // A character takes three bytes at most; texts with escapes are checked more closely.
    const sound = soundOf(raw, saltOfPage, recordBytesMax / 3);
    const excess = sound === null ? excessBytes(raw, recordBytesMax) : null;
    if (excess !== null) return oversized(raw, excess, saltOfPage);
    const issue = sound === null ? findIssue(raw) : null;
    const storable: unknown = issue === null ? raw : JSON.parse(storableJson(raw));
    const id = externalIdOf(storable, primaryKey);
    const externalId = id.ok ? id.externalId : keylessExternalId(canonicalJson(storable));
    const cursor = issue === null ? cursorOf(raw) : null;
    return {
      raw,
      externalId,
      hash: sound === null ? hashOf(storable, ofPartition) : fingerprintOf(sound.text),
      isPlain: sound?.isPlain ?? false,
      cursor,
      issues: issue === null && id.ok ? null : issuesOf(issue, id),
      data: null,
      lookups: null,
      quarantine: false,
      isDegraded: false,
      isDeleted: false,
      isFiltered: false,
    };
  };
}

/** Includes the fields stored for child resources in the fingerprint: they must not stay at their first value. */
function withStoredFields(
  { changeDetection: { mode, ignore } }: Resource,
  storedFields: StoredFields | null,
): (record: unknown, version: unknown) => unknown {
  if (storedFields === null || (mode === 'hash' && ignore.length === 0)) return (_record, version) => version;
  const fieldsOf = createFieldPicker(storedFields);
  // As text, in which no ignored path finds a field.
  return (record, version) => [version, canonicalJson(fieldsOf(record))];
}

const issuesOf = (issue: string | null, id: ExternalId): readonly RecordIssue[] => [
  ...(issue === null ? [] : [{ path: '', message: issue, keyword: 'record' }]),
  ...(id.ok ? [] : [{ path: id.path, message: id.message, keyword: 'primaryKey' }]),
];

function createCursorReader({ incremental }: Resource): (record: unknown) => string | null {
  if (incremental?.kind !== 'cursor' || incremental.cursor.field === undefined) return () => null;
  const { cursor } = incremental;
  const field = incremental.cursor.field;
  return (record) => canonicalCursor(valueAt(record, field), cursor);
}
