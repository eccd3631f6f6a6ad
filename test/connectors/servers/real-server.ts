import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Counts by key of a resource. */
export type Counts = Readonly<Record<string, number>>;

/** A running server with records in it. Disposing ends it. */
export interface RealServer extends AsyncDisposable {
  /** Name and version. */
  readonly name: string;
  readonly hostPort: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** Its records of each resource that is read. */
  readonly records: Counts;
  /** Changes and deletes records; null: its records never change. */
  readonly change: (() => Promise<{ readonly changed: Counts; readonly deleted: Counts }>) | null;
}

/** Fetches a server if it is not there yet, starts it and fills it. */
export type StartServer = () => Promise<RealServer>;

/** Where servers and descriptions are kept between runs. */
export async function downloads(name: string): Promise<string> {
  const folder = join(tmpdir(), 'connector-sync-verify', name);
  await mkdir(folder, { recursive: true });
  return folder;
}
