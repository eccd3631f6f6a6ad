import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrateToLatest } from '../db/migrate.ts';
import { startScratchDatabase } from '../src/dev/embedded/scratch-database.ts';

const run = promisify(execFile);

/** From a fresh database with every migration applied. */
export async function renderSchemaTypes(): Promise<string> {
  await using database = await startScratchDatabase();
  await migrateToLatest(database.url);
  const folder = await mkdtemp(join(tmpdir(), 'schema-types-'));
  try {
    const file = join(folder, 'schema.gen.ts');
    await run(process.execPath, [
      'node_modules/kysely-codegen/dist/cli/bin.js',
      ...['--url', database.url, '--dialect', 'postgres', '--camel-case', '--exclude-pattern', 'kysely_*'],
      ...['--type-mapping', '{"timestamptz":"string","int8":"number"}', '--out-file', file],
    ]);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}
