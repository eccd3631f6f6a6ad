import type { Destination } from '../../src/core/destinations/destination.ts';

/** What the conformance suite needs to know of a kind of destination. */
export interface DestinationKind {
  readonly name: string;
  /** A place for tables that nobody else uses; gone on dispose. */
  createPlace(): Promise<Place>;
}

/** One schema at a real server, and a way around the destination to look at it. */
export interface Place extends AsyncDisposable {
  readonly schema: string;
  /** Where the server listens. */
  readonly port: number;
  /** A destination of this server; through another port when a proxy is in between. */
  connect(options?: { readonly port?: number }): Destination;
  /** Values as the server prints them, null for NULL, ordered by external id. */
  rows(table: string): Promise<readonly Readonly<Record<string, string | null>>[]>;
  columnTypes(table: string): Promise<Readonly<Record<string, string>>>;
  execute(sql: string): Promise<void>;
  /** Holds the checkpoint row of a lane while `work` runs, so that a batch waits inside the server. */
  whileLocked(lane: string, work: () => Promise<void>): Promise<void>;
  /** The server ends the connection of a destination that waits for a lock. */
  killWaiting(): Promise<void>;
}
