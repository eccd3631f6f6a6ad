import { hash } from 'node:crypto';
import type { Batch, Deliverable, RejectedRow, Tombstone } from '../../model/batch.ts';
import { mapWithPauses, partsOf } from '../../work/map-with-pauses.ts';
import type { WriteMode } from '../destination.ts';
import type { OutboxPart } from './outbox.ts';

export interface SentResource {
  readonly orgId: string;
  readonly resourceKey: string;
  readonly specVersion: string;
}

interface SplitOptions extends SentResource {
  readonly connectionId: string;
  readonly mode: WriteMode;
  readonly preparedAt: Date;
  /** Number of the run's last stored request; 0 if none. */
  readonly sequenceBefore: number;
  readonly recordsMax: number;
  /** A record that does not fit is refused. */
  readonly bytesMax: number;
  /** Bytes that the receiver accepts at once, which a single record may exceed; `null` if not known. */
  readonly takenBytesMax: number | null;
  /** Each partition has requests of its own. */
  readonly parallelism: number;
}

/** Stable for a given `parallelism`; from 0. */
export const partitionOf = (externalId: string, parallelism: number): number =>
  hash('sha256', externalId, 'buffer').readUInt32BE(0) % parallelism;

/** `hash`: `sha256:` and hex, as every digest of the interface; absent where changes are not detected. */
type SentRecord =
  | {
      readonly op: WriteMode;
      readonly externalId: string;
      readonly hash?: string;
      readonly data: Readonly<Record<string, unknown>>;
    }
  | { readonly op: 'delete'; readonly externalId: string };

export interface PartRecord {
  /** Position in the part, from 0. */
  readonly position: number;
  /** Index in the batch, from 0. */
  readonly index: number;
  readonly externalId: string;
}

interface Envelope {
  readonly id: string;
  readonly type: 'records.batch';
  readonly timestamp: string;
  readonly apiVersion: string;
  readonly orgId: string;
  readonly connectionId: string;
  readonly runId: string;
  readonly resourceKey: string;
  readonly specVersion: string;
  /**
   * `sequence` rises by one with each request of a run, from 1, in the order in which they are stored. Halves of a refused
   * request, and records requested again, keep the sequence of their original request and differ in `part`. It is the place in
   * the batch (`1`); halves append theirs (`1.0`, `1.1`), and records sent again append `r`.
   */
  readonly batch: { readonly sequence: number; readonly part: string; readonly count: number };
}

/** The version of the envelope; it only ever gains properties. */
const apiVersion = '2026-11';

export async function splitBatch(
  batch: Pick<Batch, 'runId' | 'rows' | 'tombstones'>,
  { mode, preparedAt, sequenceBefore, recordsMax, bytesMax, takenBytesMax, parallelism, ...source }: SplitOptions,
): Promise<{ readonly parts: readonly OutboxPart[]; readonly rejected: readonly RejectedRow[] }> {
  const { runId, rows } = batch;
  const { orgId, connectionId, resourceKey, specVersion } = source;
  const timestamp = preparedAt.toISOString();
  const common = {
    type: 'records.batch',
    timestamp,
    apiVersion,
    orgId,
    connectionId,
    runId,
    resourceKey,
    specVersion,
  } as const;
  let next = 0;
  const sizedOf = (record: SentRecord): SizedRecord => {
    const text = JSON.stringify(record);
    const partition = parallelism === 1 ? 0 : partitionOf(record.externalId, parallelism);
    const sized = { index: next, partition, text, bytes: Buffer.byteLength(text) };
    next += 1;
    return sized;
  };
  const { tombstones } = batch;
  const all = [
    ...(await mapWithPauses(partsOf(rows), (part) => part.map((row) => sizedOf(sentRow(row, mode))))),
    ...(await mapWithPauses(partsOf(tombstones), (part) => part.map((tombstone) => sizedOf(sentTombstone(tombstone))))),
  ].flat();
  const partOf = (records: readonly SizedRecord[], place: number) =>
    makePart({ common, sequence: sequenceBefore + 1 + place, path: String(place), again: false }, records);
  const envelopeBytes = Buffer.byteLength(partOf([], all.length).body) + countDigits;
  const room = bytesMax - envelopeBytes;
  const rejected = all.flatMap(({ index, bytes }): RejectedRow[] => {
    const row = rows[index];
    const message = `too_large: the record has ${bytes} bytes as JSON, and a request holds at most ${room}`;
    return row && bytes > room ? [{ index, externalId: row.externalId, message }] : [];
  });
  const refused = new Set(rejected.map(({ index }) => index));
  const left = all.filter(({ index }) => !refused.has(index));
  const groupRoom = Math.min(bytesMax, takenBytesMax ?? bytesMax) - envelopeBytes;
  const partitions = Map.groupBy(left, ({ partition }) => partition).values();
  const groups = [...partitions].flatMap((records) => grouped(records, { recordsMax, room: groupRoom }));
  return { parts: await mapWithPauses(groups, (records, _, place) => partOf(records, place)), rejected };
}

interface SizedRecord {
  readonly index: number;
  readonly partition: number;
  readonly text: string;
  readonly bytes: number;
}

/** A fingerprint is shorter than a digest. */
export const sentHash = (fingerprint: string): string => `sha256:${hash('sha256', fingerprint, 'hex')}`;

const sentRow = ({ externalId, hash: known, data }: Deliverable, op: WriteMode): SentRecord => ({
  op,
  externalId,
  ...(known !== null && { hash: sentHash(known) }),
  data,
});

const sentTombstone = ({ externalId }: Tombstone): SentRecord => ({ op: 'delete', externalId });

/** A record that exceeds the room gets a group of its own. */
function grouped(
  records: readonly SizedRecord[],
  { recordsMax, room }: { readonly recordsMax: number; readonly room: number },
): readonly (readonly SizedRecord[])[] {
  const groups: SizedRecord[][] = [];
  let filled = 0;
  for (const record of records) {
    const group = groups.at(-1);
    filled += 1 + record.bytes;
    if (group && group.length < recordsMax && filled <= room) {
      group.push(record);
    } else {
      groups.push([record]);
      filled = record.bytes;
    }
  }
  return groups;
}

/** The halves depend on nothing but the part. */
export function halvesOf(part: OutboxPart): readonly OutboxPart[] {
  const middle = Math.ceil(part.indexes.length / 2);
  return [
    subset(part, { path: `${part.path}.0`, again: part.again, positions: range(0, middle) }),
    subset(part, { path: `${part.path}.1`, again: part.again, positions: range(middle, part.indexes.length) }),
  ];
}

/** `positions` within the part. */
export const againOf = (part: OutboxPart, positions: readonly number[]): OutboxPart =>
  subset(part, { path: part.path, again: true, positions });

export const recordsOf = (part: OutboxPart): readonly PartRecord[] =>
  openBody(part).records.map(({ externalId }, position) => ({
    position,
    index: part.indexes[position] ?? -1,
    externalId,
  }));

/** The count of a full part has more digits than that of an empty one. */
const countDigits = 4;

interface PartPlace {
  readonly common: Omit<Envelope, 'id' | 'batch'>;
  readonly sequence: number;
  readonly path: string;
  readonly again: boolean;
}

function makePart(
  { common, sequence, path, again }: PartPlace,
  records: readonly Pick<SizedRecord, 'index' | 'text'>[],
): OutboxPart {
  const name = again ? `${path}r` : path;
  const { connectionId, runId, resourceKey } = common;
  const named = JSON.stringify([connectionId, runId, resourceKey, sequence, name]);
  const id = `bat_${hash('sha256', named, 'base64url')}`;
  const envelope: Envelope = { id, ...common, batch: { sequence, part: name, count: records.length } };
  const head = JSON.stringify(envelope).slice(0, -1);
  const body = `${head},"records":[${records.map(({ text }) => text).join(',')}]}`;
  return { path, again, isDoubted: false, mayBeTaken: false, id, body, indexes: records.map(({ index }) => index) };
}

function subset(
  part: OutboxPart,
  { positions, ...place }: Pick<PartPlace, 'path' | 'again'> & { readonly positions: readonly number[] },
): OutboxPart {
  const { envelope, records } = openBody(part);
  const { id: _id, batch, ...common } = envelope;
  return makePart(
    { common, sequence: batch.sequence, ...place },
    positions.map((position) => ({
      index: part.indexes[position] ?? -1,
      text: JSON.stringify(records[position]),
    })),
  );
}

function openBody({ body }: OutboxPart): { readonly envelope: Envelope; readonly records: readonly SentRecord[] } {
  const { records, ...envelope } = JSON.parse(body) as Envelope & { readonly records: readonly SentRecord[] };
  return { envelope, records };
}

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
