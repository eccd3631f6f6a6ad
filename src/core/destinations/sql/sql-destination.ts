import type { AppError } from '../../errors.ts';
import type { Batch, Deliverable, RejectedRow } from '../../model/batch.ts';
import { ThrottledError } from '../../model/throttled.ts';
import type { Destination, LaneClaim, LastBatch, LeftoverPage, OpenedLane, TargetTable } from '../destination.ts';
import { createLiveSession, type SqlSession } from './live-session.ts';
import {
  type AdmittedFields,
  coversFields,
  type FieldMap,
  nothingRefused,
  type PreparedTable,
} from './record-fields.ts';

/** One session, one lane at a time. */
export interface SqlKind<Session extends SqlSession, Fields extends WrittenFields, Encoded extends EncodedBatch> {
  connect(): Promise<Session>;
  /** `written`: see `WrittenColumns.find`. */
  openLane(session: Session, claim: LaneClaim, written: readonly string[] | null): Promise<OpenedFields<Fields>>;
  /** Whether the table exists. Throws `destination_rejected` where it could not be written as the spec says. */
  checkTable(session: Session, target: TargetTable): Promise<boolean>;
  peekLane?(session: Session, lane: Pick<LaneClaim, 'lane' | 'target'>): Promise<LastBatch | null>;
  leftovers(session: Session, lane: HeldFields<Fields>, page: LeftoverPage): Promise<readonly string[]>;
  admit(session: Session, rows: BatchRows<Fields>): Promise<AdmittedFields<Fields>>;
  encode(rows: BatchRows<Fields>, refused: AdmittedFields<Fields>['refused']): Promise<Encoded>;
  /** Returns the rows refused. */
  write(session: Session, batch: LaneBatch<Fields, Encoded>): Promise<readonly RejectedRow[]>;
  toAppError(error: unknown): AppError;
}

export type WrittenFields = FieldMap<PreparedTable, { readonly name: string }>;

interface EncodedBatch {
  readonly encoded: {
    readonly indexes: readonly number[];
    readonly writers: readonly { readonly name: string }[];
  };
}

export interface BatchRows<Fields> {
  readonly rows: readonly Deliverable[];
  readonly fields: Fields;
  readonly target: TargetTable;
}

export interface HeldFields<Fields> {
  readonly claim: LaneClaim;
  readonly fields: Fields;
}

export interface OpenedFields<Fields> {
  readonly fields: Fields;
  readonly opened: OpenedLane;
}

export interface LaneBatch<Fields, Encoded> {
  readonly claim: LaneClaim;
  readonly fields: Fields;
  readonly batch: Batch;
  readonly encoded: Encoded;
  /** Mode replace: the first batch of its run, which deletes rows gathered by an earlier run. */
  readonly opensGeneration: boolean;
  /** Mode update: the columns that a deleted record leaves null, namely those that the lane has ever filled. */
  readonly cleared: readonly string[];
}

/** Connects when `open`, `check` or `peek` needs it. */
export function sqlDestination<Session extends SqlSession, Fields extends WrittenFields, Encoded extends EncodedBatch>(
  kind: SqlKind<Session, Fields, Encoded>,
): Destination {
  let held: HeldLane<Fields> | null = null;
  let prepared: PreparedBatch<Fields, Encoded> | null = null;
  const live = createLiveSession({
    connect: () => kind.connect(),
    onClose: () => {
      held = null;
    },
  });

  const translated = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof ThrottledError ? error : kind.toAppError(error);
    }
  };

  return {
    ...(kind.peekLane && {
      peek: (lane) => translated(async () => (await kind.peekLane?.(await live.connected(), lane)) ?? null),
    }),
    async check(targets) {
      return translated(async () => {
        const current = await live.connected();
        let found = 0;
        for (const target of targets) if (await kind.checkTable(current, target)) found += 1;
        const tables = found === 0 ? '' : `, and ${found === 1 ? 'its table fits' : `${found} tables fit`} the spec`;
        return `The destination is reachable and accepts the login${tables}.`;
      });
    },
    async open(claim) {
      const written = await claim.written.find();
      return translated(async () => {
        const current = await live.connected();
        const { fields, opened } = await kind.openLane(current, claim, written);
        held = { claim, fields, written: new Set(written), gathers: opened.checkpoint?.runId ?? null };
        return opened;
      });
    },
    async leftovers(page) {
      const session = live.current();
      if (!session || !held) throw new Error('leftovers needs a lane that open has claimed');
      const lane = held;
      return await translated(() => kind.leftovers(session, lane, page));
    },
    prepare(batch) {
      if (!held) return;
      const { fields, claim } = held;
      if (!coversFields(fields, batch.rows)) return;
      const encoded = kind.encode({ rows: batch.rows, fields, target: claim.target }, nothingRefused);
      prepared = { batch, fields, encoded };
      // Prepares the receipt that is needed if the server refuses no row either. `apply` reports an error.
      encoded.then(() => batch.receipt([])).catch(() => undefined);
    },
    async apply(batch) {
      const session = live.current();
      if (!session || !held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const { claim } = lane;
      const opensGeneration = claim.target.mode === 'replace' && lane.gathers !== batch.runId;
      // Unusable if an earlier batch has added fields since.
      const ready = prepared?.batch === batch && prepared.fields === lane.fields ? prepared : null;
      if (prepared?.batch === batch) prepared = null;
      const { fields, encoded } = await translated(async () => {
        const { encoded: encoding, ...admitted } = ready ?? (await admitAndEncode(kind, session, { lane, batch }));
        return { ...admitted, encoded: await encoding };
      });
      lane.fields = fields;
      await noteWritten(lane, encoded);
      const cleared = clearedBy(lane);
      const rejected = await translated(() =>
        kind.write(session, { claim, fields, batch, encoded, opensGeneration, cleared }),
      );
      lane.gathers = batch.runId;
      return rejected;
    },
    [Symbol.asyncDispose]: () => live[Symbol.asyncDispose](),
  };
}

/** See {@link LaneBatch.cleared}; the spec's columns count, since earlier versions of the service noted none. */
function clearedBy({ claim: { target }, fields, written }: HeldLane<WrittenFields>): readonly string[] {
  if (target.mode !== 'update') return [];
  const own = new Set([...written, ...target.columns.map(({ name }) => name)]);
  return fields.writers.map(({ name }) => name).filter((name) => own.has(name));
}

async function noteWritten({ claim, written }: HeldLane<unknown>, { encoded }: EncodedBatch): Promise<void> {
  if (encoded.indexes.length === 0) return;
  const names = encoded.writers.map(({ name }) => name).filter((name) => !written.has(name));
  if (names.length === 0) return;
  await claim.written.add(names);
  for (const name of names) written.add(name);
}

async function admitAndEncode<Session extends SqlSession, Fields extends WrittenFields, Encoded extends EncodedBatch>(
  kind: Pick<SqlKind<Session, Fields, Encoded>, 'admit' | 'encode'>,
  session: Session,
  { lane, batch: { rows } }: { readonly lane: HeldLane<Fields>; readonly batch: Batch },
): Promise<Pick<PreparedBatch<Fields, Encoded>, 'fields' | 'encoded'>> {
  const { target } = lane.claim;
  const { map: fields, refused } = await kind.admit(session, { rows, fields: lane.fields, target });
  return { fields, encoded: kind.encode({ rows, fields, target }, refused) };
}

interface PreparedBatch<Fields, Encoded> {
  readonly batch: Batch;
  readonly fields: Fields;
  readonly encoded: Promise<Encoded>;
}

interface HeldLane<Fields> {
  readonly claim: LaneClaim;
  fields: Fields;
  /** Columns that the lane's batches have ever filled. */
  readonly written: Set<string>;
  /** The run whose batch was applied last, which in mode replace is the one that gathers. */
  gathers: string | null;
}
