import { expect, it } from 'vitest';
import { runAdmin, runMigrate } from '../support/service/admin.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';

const password = 'hunter2-Zx9';
const { hostname, port, username, pathname } = new URL(testDatabaseUrl());

const commands = [
  ['npm run admin', (env: NodeJS.ProcessEnv) => runAdmin(env, 'org', 'list')],
  ['npm run migrate', (env: NodeJS.ProcessEnv) => runMigrate(env)],
] as const;

const faults = [
  {
    fault: 'a wrong password',
    url: `postgres://${username}:${password}@${hostname}:${port}${pathname}`,
    says: 'refuses the user name or the password (28P01)',
    exitCode: 1,
  },
  {
    fault: 'a port where nothing listens',
    url: `postgres://me:${password}@127.0.0.1:1/x`,
    says: '127.0.0.1:1: the connection was refused',
    exitCode: 1,
  },
  {
    fault: 'a host that is not known',
    url: `postgres://me:${password}@nowhere.invalid:5432/x`,
    says: 'nowhere.invalid: the host name',
    exitCode: 1,
  },
  {
    fault: 'a URL that is none',
    url: `postgres://me:${password}@127.0.0.1:port/x`,
    says: 'DATABASE_URL must be a URL',
    exitCode: 78,
  },
  {
    fault: 'a URL whose option cannot be read',
    url: `postgres://me:${password}@127.0.0.1:1/x?sslrootcert=/nowhere/${password}`,
    says: 'ENOENT',
    exitCode: 1,
  },
];

it.each(commands.flatMap(([command, run]) => faults.map((fault) => ({ command, run, ...fault }))))(
  '$command says what is wrong and never the password of the database: $fault',
  async ({ run, url, says, exitCode }) => {
    const outcome = await run({ ...process.env, DATABASE_URL: url });
    expect(outcome.stderr).toContain(says);
    expect(outcome.exitCode).toBe(exitCode);
    expect(outcome.stdout + outcome.stderr).not.toContain(password);
  },
);
