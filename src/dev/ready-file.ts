import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `null` if external, or between two lives. */
export interface StackPids {
  readonly supervisor: number;
  readonly api: number | null;
  readonly worker: number | null;
  readonly postgres: number | null;
  readonly temporal: number | null;
}

/** For scripts that wait for the stack. */
export interface ReadyFacts {
  readonly apiUrl: string;
  /** `null` when Temporal is external. */
  readonly uiUrl: string | null;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly databaseUrl: string;
  readonly pids: StackPids;
}

/** Exists only while the stack is ready. */
export interface ReadyFile {
  /** `facts` is called again at each update. */
  write(facts: () => ReadyFacts): void;
  /** Does nothing before the first write. */
  update(): void;
  /** Also removes the file of a killed supervisor. */
  remove(): void;
}

export function readyFile(dataDir: string): ReadyFile {
  const path = join(dataDir, 'ready.json');
  let facts: (() => ReadyFacts) | null = null;
  const update = (): void => {
    if (!facts) return;
    // Contains the database password; moved in, so that no reader sees half of it.
    writeFileSync(`${path}.draft`, `${JSON.stringify(facts(), null, 2)}\n`, { mode: 0o600 });
    renameSync(`${path}.draft`, path);
  };
  const remove = (): void => {
    facts = null;
    rmSync(path, { force: true });
  };
  return {
    write(ask) {
      facts = ask;
      update();
    },
    update,
    remove,
  };
}
