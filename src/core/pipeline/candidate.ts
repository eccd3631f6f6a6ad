import { cursorText, parseCursor } from '../source/cursor-value.ts';
import { valueAt } from '../source/dotted-path.ts';
import { externalIdOf, keylessExternalId } from '../source/external-id.ts';
import type { Resource } from '../spec/schema.ts';
import { canonicalJson } from './canonical-json.ts';
import { createFingerprint } from './fingerprint.ts';
import { findDefect } from './record-gate.ts';
import { resourceFingerprint } from './resource-fingerprint.ts';
import { storableJson } from './storable-json.ts';
import type { RecordIssue } from './validate.ts';

/** A record between two stages; once it has issues, the later stages leave it alone. */
export interface Candidate {
  /** As fetched. */
  readonly raw: unknown;
  readonly externalId: string;
  /** Null where changes are not detected. */
  readonly hash: string | null;
  /** Canonical text; null: it has no cursor value. */
  readonly cursor: string | null;
  /** Null: none so far. */
  readonly issues: readonly RecordIssue[] | null;
  /** After the transform; null before it. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** The first stage: what a raw record is called, and whether it can pass at all. It never throws. */
export function createIdentify(resource: Resource): (raw: unknown) => Candidate {
  const { changeDetection, primaryKey } = resource;
  const fingerprint = createFingerprint({ ignore: changeDetection.ignore, salt: resourceFingerprint(resource) });
  const hashOf = (record: unknown) => (changeDetection.mode === 'none' ? null : fingerprint(record));
  const cursorOf = createCursorReader(resource);
  return (raw) => {
    const defect = findDefect(raw);
    const sound: unknown = defect === null ? raw : JSON.parse(storableJson(raw));
    const id = externalIdOf(sound, primaryKey);
    const externalId = id.ok ? id.externalId : keylessExternalId(canonicalJson(sound));
    const issues = [
      ...(defect === null ? [] : [{ path: '', message: defect, keyword: 'record' }]),
      ...(id.ok ? [] : [{ path: id.path, message: id.message, keyword: 'primaryKey' }]),
    ];
    const cursor = defect === null ? cursorOf(raw) : null;
    return { raw, externalId, hash: hashOf(sound), cursor, issues: issues.length > 0 ? issues : null, data: null };
  };
}

function createCursorReader({ incremental }: Resource): (record: unknown) => string | null {
  if (incremental?.kind !== 'cursor' || incremental.cursor.field === undefined) return () => null;
  const { cursor } = incremental;
  const field = incremental.cursor.field;
  return (record) => {
    const value = parseCursor(valueAt(record, field), cursor);
    return value === null ? null : cursorText(value, cursor);
  };
}
