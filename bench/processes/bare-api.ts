/**
 * The least that an API of this kind has to do, over the same tables: the key is looked up and compared, then one query.
 * No checks of inputs or responses, no log, no limits, no events, no Temporal.
 */
import { createHash } from 'node:crypto';
import { serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import pg from 'pg';
import { runJobs } from '../support/partner.ts';

export type BareApiJobs = typeof jobs;
const jobs = runJobs({
  /** Starts to listen; `http://127.0.0.1:<port>`. */
  listen: async (databaseUrl: string): Promise<string> => {
    const fetch = appOver(new pg.Pool({ connectionString: databaseUrl, max: 10 })).fetch;
    const port = await new Promise<number>((done) => {
      serve({ fetch, port: 0, hostname: '127.0.0.1' }, (info) => done(info.port));
    });
    return `http://127.0.0.1:${port}`;
  },
});

const columns = `id, org_id as "orgId", workspace_id as "workspaceId", spec_id as "specId",
  pinned_spec_version as "pinnedSpecVersion", display_name as "displayName",
  external_customer_id as "externalCustomerId", status, params_json as "paramsJson",
  spec_overrides_json as "specOverridesJson"`;

const keySql = 'select org_id from api_keys where key_hash = $1 and lookup_id = $2 and revoked_at is null';
const oneSql = `select ${columns} from connections where org_id = $1 and id = $2 and deleted_at is null`;
const listSql = `select ${columns} from connections where org_id = $1 and deleted_at is null order by id desc`;

/** The 12 characters after `ck_`, which have the index. */
const lookupIdOf = (key: string): string => key.slice(3, 15);

function appOver(pool: pg.Pool): Hono {
  const app = new Hono();
  const orgOf = async (c: Context): Promise<string> => {
    const key = c.req.header('authorization')?.slice('Bearer '.length) ?? '';
    const values = [createHash('sha256').update(key).digest(), lookupIdOf(key)];
    const { rows } = await pool.query<{ org_id: string }>({ name: 'key', text: keySql, values });
    if (!rows[0]) throw new Error('Unknown key');
    return rows[0].org_id;
  };
  app.get('/api/v1/connections', async (c) => {
    const { rows } = await pool.query<object>({ name: 'list', text: listSql, values: [await orgOf(c)] });
    return c.json(rows);
  });
  app.get('/api/v1/connections/:id', async (c) => {
    const { rows } = await pool.query<object>({
      name: 'one',
      text: oneSql,
      values: [await orgOf(c), c.req.param('id')],
    });
    return rows[0] ? c.json(rows[0]) : c.json({}, 404);
  });
  return app;
}
