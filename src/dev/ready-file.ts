import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Process ids; null: external, or between two lives. */
export interface StackPids {
  readonly supervisor: number;
  readonly api: number | null;
  readonly worker: number | null;
  readonly postgres: number | null;
  readonly temporal: number | null;
}

/** What `ready.json` says, for scripts that wait for the stack. */
export interface ReadyFacts {
  readonly apiUrl: string;
  /** Null when Temporal is external. */
  readonly uiUrl: string | null;
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly databaseUrl: string;
  readonly pids: StackPids;
}

/** `DATA_DIR/ready.json`: there while the stack is ready, and only then. */
export interface ReadyFile {
  /** Writes it; `facts` is called again at each update. */
  write(facts: () => ReadyFacts): void;
  /** Writes it again after pids changed; does nothing before the first write. */
  update(): void;
  /** Also removes what a killed supervisor left. */
  remove(): void;
}

/** The file of this folder; nothing is written yet. */
export function readyFile(dataDir: string): ReadyFile {
  const path = join(dataDir, 'ready.json');
  let facts: (() => ReadyFacts) | null = null;
  const update = (): void => {
    if (!facts) return;
    // It holds the password of the database; moved in, so that no reader sees half of it.
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
