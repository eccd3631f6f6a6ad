import type { Readable, Writable } from 'node:stream';

type Terminal<Stream> = Stream & { readonly isTTY?: boolean; readonly columns?: number };

/** The process as commands see it. */
export interface Tools {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  readonly stdin: Terminal<Readable>;
  readonly stdout: Terminal<Writable>;
  readonly stderr: Terminal<Writable>;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}
