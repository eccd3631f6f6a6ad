import { AppError } from '../../errors.ts';
import type { Batch, Deliverable, RejectedRow } from '../../model/batch.ts';
import type { Checkpoint, Destination, LaneClaim, OpenedLane, TargetTable } from '../destination.ts';
import { type AdmittedFields, coversFields, nothingRefused } from './record-fields.ts';

/** What a kind of database implements to be a destination: one session, one lane at a time. */
export interface SqlKind<Session extends SqlSession, Fields extends WrittenFields, Encoded> {
  connect(): Promise<Session>;
  /** Prepares the table and claims the lane. */
  openLane(session: Session, claim: LaneClaim): Promise<OpenedFields<Fields>>;
  /** See {@link Destination.peek}. */
  peekLane?(
    session: Session,
    lane: Pick<LaneClaim, 'lane' | 'target'>,
  ): Promise<Pick<Checkpoint, 'runId' | 'batchNo'> | null>;
  /** Finds or makes a column for each field of the rows. */
  admit(session: Session, rows: BatchRows<Fields>): Promise<AdmittedFields<Fields>>;
  /** The rows as the server takes them, without asking it. */
  encode(rows: BatchRows<Fields>, refused: AdmittedFields<Fields>['refused']): Encoded;
  /** Writes a batch; returns the rows refused. */
  write(session: Session, batch: LaneBatch<Fields, Encoded>): Promise<readonly RejectedRow[]>;
  /** The failure as the engine knows it. */
  toAppError(error: unknown): AppError;
}

/** The columns that batches write. */
export interface WrittenFields {
  readonly writers: readonly { readonly name: string }[];
}

/** Rows of a batch, and the columns that they may fill. */
export interface BatchRows<Fields> {
  readonly rows: readonly Deliverable[];
  readonly fields: Fields;
  readonly target: TargetTable;
}

/** One connection to a customer's server. */
export interface SqlSession extends AsyncDisposable {
  /** False once the network or the server ended it; a new session must be opened. */
  isUsable(): boolean;
}

/** A lane that was claimed, and the columns that its batches write. */
export interface OpenedFields<Fields> {
  readonly fields: Fields;
  readonly opened: OpenedLane;
}

/** A batch for a lane that is held. */
export interface LaneBatch<Fields, Encoded> {
  readonly claim: LaneClaim;
  readonly fields: Fields;
  readonly batch: Batch;
  readonly encoded: Encoded;
  /** Mode replace: the first batch of its run, so that rows gathered by an earlier run are deleted. */
  readonly opensGeneration: boolean;
}

/** Rows in a customer's database: one connection, one table, one checkpoint row per lane. Connects at `open`. */
export function sqlDestination<Session extends SqlSession, Fields extends WrittenFields, Encoded>(
  kind: SqlKind<Session, Fields, Encoded>,
): Destination {
  let session: Session | null = null;
  let held: HeldLane<Fields> | null = null;
  let prepared: PreparedBatch<Fields, Encoded> | null = null;
  let isDisposed = false;

  const close = async () => {
    const ending = session;
    session = null;
    held = null;
    await ending?.[Symbol.asyncDispose]();
  };

  const translated = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw kind.toAppError(error);
    }
  };

  const connected = async (): Promise<Session> => {
    if (!session?.isUsable()) await close();
    session ??= await kind.connect();
    if (!isDisposed) return session;
    // A caller that gave up did not wait for the connection.
    await close();
    throw new AppError('destination_unavailable', 'The destination was closed while it was being connected.');
  };

  const encode = async (
    current: Session,
    { fields: before, claim: { target } }: HeldLane<Fields>,
    { rows }: Batch,
  ): Promise<Pick<PreparedBatch<Fields, Encoded>, 'fields' | 'encoded'>> => {
    const { map: fields, refused } = await kind.admit(current, { rows, fields: before, target });
    return { fields, encoded: kind.encode({ rows, fields, target }, refused) };
  };

  return {
    ...(kind.peekLane && {
      peek: (lane) => translated(async () => (await kind.peekLane?.(await connected(), lane)) ?? null),
    }),
    async check() {
      await translated(connected);
      return 'The destination is reachable and accepts the login.';
    },
    async open(claim) {
      return translated(async () => {
        const current = await connected();
        const { fields, opened } = await kind.openLane(current, claim);
        held = { claim, fields, gathers: opened.checkpoint?.runId ?? null };
        return opened;
      });
    },
    prepare(batch) {
      if (!held) return;
      const { fields, claim } = held;
      if (!coversFields(fields, batch.rows)) return;
      try {
        const encoded = kind.encode({ rows: batch.rows, fields, target: claim.target }, nothingRefused);
        prepared = { batch, fields, encoded };
        // The text that is wanted if the server refuses no row either.
        batch.receipt([]);
      } catch {
        // `apply` reports the error.
      }
    },
    async apply(batch) {
      if (!session || !held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const current = session;
      const { claim } = lane;
      const opensGeneration = claim.target.mode === 'replace' && lane.gathers !== batch.runId;
      // Not if the fields have grown since by what a batch before it brought.
      const ready = prepared?.batch === batch && prepared.fields === lane.fields ? prepared : null;
      if (prepared?.batch === batch) prepared = null;
      const rejected = await translated(async () => {
        const { fields, encoded } = ready ?? (await encode(current, lane, batch));
        lane.fields = fields;
        return await kind.write(current, { claim, fields, batch, encoded, opensGeneration });
      });
      lane.gathers = batch.runId;
      return rejected;
    },
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      await close();
    },
  };
}

/** A batch encoded ahead of its time, for the fields of then. */
interface PreparedBatch<Fields, Encoded> {
  readonly batch: Batch;
  readonly fields: Fields;
  readonly encoded: Encoded;
}

/** The lane that a destination holds; the fields grow with those that batches bring. */
interface HeldLane<Fields> {
  readonly claim: LaneClaim;
  fields: Fields;
  /** The run whose batch was applied last: in mode replace the one that gathers. Null: none. */
  gathers: string | null;
}
