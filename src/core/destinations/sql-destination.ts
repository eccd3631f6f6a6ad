import type { AppError } from '../errors.ts';
import type { Batch, Destination, LaneClaim, OpenedLane, RejectedRow } from './destination.ts';

/** What a kind of database gives to be a destination: one session, one lane at a time. */
export interface SqlKind<Session extends SqlSession, Fields> {
  connect(): Promise<Session>;
  /** Prepares the table and claims the lane. */
  openLane(session: Session, claim: LaneClaim): Promise<OpenedFields<Fields>>;
  /** Writes a batch. Returns the fields as they then are, and the rows refused. */
  applyBatch(session: Session, write: LaneBatch<Fields>): Promise<AppliedBatch<Fields>>;
  /** The failure as the engine knows it. */
  toAppError(error: unknown): AppError;
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
export interface LaneBatch<Fields> {
  readonly claim: LaneClaim;
  readonly fields: Fields;
  readonly batch: Batch;
  /** Mode replace: the first batch of its run, so that what an earlier run gathered is thrown away. */
  readonly opensGeneration: boolean;
}

/** What became of a batch. */
export interface AppliedBatch<Fields> {
  readonly fields: Fields;
  readonly rejected: readonly RejectedRow[];
}

/** Rows in a customer's database: one connection, one table, one checkpoint row per lane. Connects at `open`. */
export function sqlDestination<Session extends SqlSession, Fields>(kind: SqlKind<Session, Fields>): Destination {
  let session: Session | null = null;
  let held: HeldLane<Fields> | null = null;

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
    return session;
  };

  return {
    async check() {
      await translated(connected);
      return 'The destination can be reached and takes the login.';
    },
    async open(claim) {
      return translated(async () => {
        const current = await connected();
        const { fields, opened } = await kind.openLane(current, claim);
        held = { claim, fields, gathers: opened.checkpoint?.runId ?? null };
        return opened;
      });
    },
    async apply(batch) {
      if (!session || !held) throw new Error('apply needs a lane that open has claimed');
      const lane = held;
      const current = session;
      const { claim } = lane;
      const opensGeneration = claim.target.mode === 'replace' && lane.gathers !== batch.runId;
      const write = { claim, fields: lane.fields, batch, opensGeneration };
      const { fields, rejected } = await translated(() => kind.applyBatch(current, write));
      lane.fields = fields;
      lane.gathers = batch.runId;
      return rejected;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The lane that a destination holds; the fields grow with those that batches bring. */
interface HeldLane<Fields> {
  readonly claim: LaneClaim;
  fields: Fields;
  /** The run whose batch was applied last: in mode replace the one that gathers. Null: none. */
  gathers: string | null;
}
