import { Connection } from '@temporalio/client';
import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../db/schema.ts';
import type { ReadyFacts } from '../ready-file.ts';

export async function componentsOf(db: Kysely<Database>, ready: ReadyFacts): Promise<string> {
  const [postgres, migrations, temporal] = await Promise.all([
    one(sql<{ value: string }>`select current_setting('server_version') as value`, db),
    one(sql<{ value: string }>`select count(*)::text as value from kysely_migration`, db),
    temporalVersion(ready.temporalAddress),
  ]);
  return [
    `Node ${process.versions.node}`,
    `PostgreSQL ${postgres} (embedded, port ${new URL(ready.databaseUrl).port})`,
    `Temporal ${temporal} (port ${ready.temporalAddress.split(':').at(-1)})`,
    `migrations ${migrations} applied`,
    `API (port ${new URL(ready.apiUrl).port})`,
  ].join(' ✓  ');
}

async function one(query: ReturnType<typeof sql<{ value: string }>>, db: Kysely<Database>): Promise<string> {
  return (await query.execute(db)).rows[0]?.value ?? '?';
}

async function temporalVersion(address: string): Promise<string> {
  const connection = await Connection.connect({ address });
  try {
    return (await connection.workflowService.getSystemInfo({})).serverVersion;
  } finally {
    await connection.close();
  }
}
