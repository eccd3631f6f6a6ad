import type { CountedDestination } from '../destinations/audit.ts';
import { optionsFor, sqlServerKind, sqlServerUrl } from './kind.ts';

/** A schema of a SQL Server whose writes are counted by triggers. */
export interface AuditedSqlServer extends CountedDestination {
  /** For `EGRESS_ALLOW`. */
  readonly hostPort: string;
}

/** Makes an empty schema on the server that `TEST_SQLSERVER_URL` names; null without one. Disposing drops it. */
export async function openAuditedSqlServer(): Promise<AuditedSqlServer | null> {
  const url = sqlServerUrl();
  if (!url) return null;
  const place = await sqlServerKind.createPlace();
  const { schema, host, port } = place;
  const { password, ...declared } = optionsFor(url, { host, port });
  const trigger = (table: string, operation: 'insert' | 'update' | 'delete') => `
    create trigger "${schema}".audit_${operation} on "${schema}"."${table}" after ${operation} as
    begin
      set nocount on;
      insert into "${schema}".audit_log (operation, _external_id)
      select '${operation}', _external_id from ${operation === 'delete' ? 'deleted' : 'inserted'};
    end`;
  return {
    hostPort: `${host}:${port}`,
    declared: { ...declared, schema, password: '{{ secrets.destination }}' },
    secret: password,
    count: async (table) => (await place.rows(table)).length,
    async audit(table) {
      await place.execute(
        `create table "${schema}".audit_log (operation nvarchar(10) not null, _external_id nvarchar(450) not null)`,
      );
      for (const operation of ['insert', 'update', 'delete'] as const) await place.execute(trigger(table, operation));
    },
    async writes() {
      const made = await place.rows('audit_log');
      const by = (wanted: string) => made.filter(({ operation }) => operation === wanted);
      const rows = new Set(by('insert').map((row) => row['_external_id'])).size;
      return { rows, inserts: by('insert').length, updates: by('update').length, deletes: by('delete').length };
    },
    // A reader that locks the whole log waits for every transaction that has written to it.
    quiet: async () => {
      await place.rows('audit_log');
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}
