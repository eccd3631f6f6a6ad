import { execFile } from 'node:child_process';
import { join } from 'node:path';

/** What a command of the operator printed. */
export interface AdminOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where the operator's command line starts. */
export const adminFile = join(import.meta.dirname, '../../../src/admin.ts');

const workerFile = join(import.meta.dirname, '../../../src/worker.ts');
const migrateFile = join(import.meta.dirname, '../../../src/migrate.ts');

/** Runs the command line as an operator would, in this environment. */
export const runAdmin = (env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<AdminOutcome> =>
  run(env, adminFile, ...args);

/** Runs `npm run migrate` in this environment. */
export const runMigrate = (env: NodeJS.ProcessEnv): Promise<AdminOutcome> => run(env, migrateFile);

/** Runs a worker that ends by itself. */
export const runWorker = (env: NodeJS.ProcessEnv): Promise<AdminOutcome> => run(env, workerFile);

function run(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<AdminOutcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}
