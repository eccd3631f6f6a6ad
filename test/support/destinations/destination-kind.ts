import type { Destination } from '../../../src/core/destinations/destination.ts';

/** What every kind of destination promises, whatever it keeps its records in. */
export interface DeliveryKind {
  readonly name: string;
  /** A place for records that nobody else uses; gone on dispose. */
  createPlace(): Promise<DeliveryPlace>;
}

/** Somewhere records go, and a way around the destination to look at them. */
export interface DeliveryPlace extends AsyncDisposable {
  readonly schema: string;
  /** A destination of an org; `org_1` unless given. */
  connect(options?: { readonly orgId?: string }): Destination;
  /** Values as text, null for none, ordered by external id. */
  rows(table: string): Promise<readonly Readonly<Record<string, string | null>>[]>;
}

/** What the conformance suite needs to know of a kind of destination that has tables. */
export interface DestinationKind extends DeliveryKind {
  createPlace(): Promise<Place>;
}

/** One schema at a real server, and a way around the destination to look at it. */
export interface Place extends DeliveryPlace {
  /** Where the server listens. */
  readonly host: string;
  readonly port: number;
  /** What it calls the types of a text without bound and of numeric(18,4). */
  readonly typeNames: { readonly text: string; readonly numeric: string };
  /** Types of columns that refer to the key columns. */
  readonly keyTypes: { readonly connectionId: string; readonly externalId: string };
  /** Bytes of the request whose response tells that a batch is committed; null: a batch is one request. */
  readonly commitMark: Buffer | null;
  /** A destination of this server; through another port when a proxy is in between. */
  connect(options?: { readonly port?: number; readonly orgId?: string }): Destination;
  columnTypes(table: string): Promise<Readonly<Record<string, string>>>;
  execute(sql: string): Promise<void>;
  /** Holds the checkpoint row of a lane while `work` runs, so that a batch waits inside the server. */
  whileLocked(lane: string, work: () => Promise<void>): Promise<void>;
  /** The server ends the connection of a destination that waits for a lock. */
  killWaiting(): Promise<void>;
}
