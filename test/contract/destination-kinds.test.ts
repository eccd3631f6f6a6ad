import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Where kinds are told apart: what each does, and what a spec may say of each. */
const knowing = [
  /^src\/core\/destinations\//,
  /^src\/core\/spec\/schema\/(?:destination-(?:kinds|schema)|spec-schema)\.ts$/,
];

describe('the kinds of destinations', () => {
  it('are known to the destinations and to the schema of a spec, and to no other part of the engine', async () => {
    const found: string[] = [];
    for await (const path of glob('{src/{core,connect,control,api},activities,workflows,db}/**/*.ts', { cwd: root })) {
      const file = path.replaceAll('\\', '/');
      if (/(\.test|-fixture)\.ts$/.test(file) || knowing.some((place) => place.test(file))) continue;
      const source = await readFile(join(root, file), 'utf8');
      found.push(...kindsIn(source).map((line) => `${file}: ${line}`));
    }
    expect(found).toEqual([]);
  });

  it('are all in the registry, which this test would see elsewhere', async () => {
    const registry = await readFile(join(root, 'src/core/destinations/registry.ts'), 'utf8');
    expect(kindsIn(registry)).toEqual(expect.arrayContaining(['postgres: openPostgres,', 'sqlserver: openSqlServer,']));
  });

  it.each([
    `if (destination.kind === 'webhook') return [];`,
    `const isTable = kind !== "sqlserver";`,
    `switch (kind) {\n    case 'postgres':\n`,
    `const limits = { postgres: 1, sqlserver: 2 };`,
    `import { openWebhook } from '../destinations/webhook/webhook.ts';`,
    `import type { PostgresDeps } from '../core/destinations/postgres/postgres.ts';`,
    `const { openSqlServer } = await import('../core/destinations/sqlserver/driver/connect.ts');`,
  ])('would be seen here: %s', (source) => {
    expect(kindsIn(source)).toHaveLength(1);
  });

  it.each([
    `// PostgreSQL and 'postgres' in a comment`,
    ` * of a 'webhook'`,
    `const run = { trigger: 'webhook' };`,
    `import { openDestination } from '../core/destinations/registry.ts';`,
  ])('are not what this is: %s', (source) => {
    expect(kindsIn(source)).toEqual([]);
  });
});

/** A literal or a property with the name of a kind, or an import of a kind's own file. */
const signs = [
  /(['"`])(?:postgres|sqlserver|webhook)\1/,
  /\b(?:postgres|sqlserver):/,
  // The outbox is what the engine gives the webhook kind: it has to know its form.
  /destinations\/(?:postgres|sqlserver|webhook)\/(?!outbox\.ts)/,
];
/** A run may be triggered by a webhook that came in, which is another matter; so is what an example of a request says. */
const other = /trigger|^secrets: \{ token: 'the-customers-token'|^destination: \{ kind: 'postgres', url: '\{\{ /i;

/** The lines of a source that know a kind of destination. */
function kindsIn(source: string): readonly string[] {
  return source
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !/^(?:\/\/|\/?\*)/.test(line) && !other.test(line))
    .filter((line) => signs.some((sign) => sign.test(line)));
}
