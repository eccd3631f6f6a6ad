import type { Readable, Writable } from 'node:stream';

/** A stream that may be a terminal. */
type Terminal<Stream> = Stream & { readonly isTTY?: boolean; readonly columns?: number };

/** What commands have of the process that runs them. */
export interface Tools {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that paths of the command line are relative to. */
  readonly folder: string;
  readonly stdin: Terminal<Readable>;
  readonly stdout: Terminal<Writable>;
  readonly stderr: Terminal<Writable>;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}
