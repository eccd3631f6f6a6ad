import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLookupStore } from '../../activities/lookup-store.ts';
import { dropLookupValues, purgeLookupValues } from '../../db/queries/runs/lookup-cache.ts';
import { orgScope } from '../../db/scope.ts';
import { createSecretBox } from '../../src/core/crypto/secret-box.ts';
import type { LookupStore } from '../../src/core/source/lookups/lookup-store.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
const secretBox = createSecretBox([{ id: 'k1', key: new Uint8Array(32) }]);
let ids: { readonly orgId: string; readonly connectionId: string };
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  ids = await insertTestConnection(database.db);
});

const storeOf = ({ orgId, connectionId } = ids, runId = 'run_1'): LookupStore =>
  createLookupStore({ ...database, secretBox }, orgScope(orgId), { connectionId, runId, echoes: noEchoes });
const same = <Value>(value: Value) => value;
const noEchoes = { hide: same, reveal: same, seal: same };
const value = (key: string, text: string | null, ttlSeconds: number | null = null) => ({ key, text, ttlSeconds });
const expire = (key: string) =>
  sql`update lookup_cache set expires_at = now() where key = ${secretBox.fingerprint(key)} and connection_id = ${ids.connectionId}`.execute(
    database.db,
  );
const count = async () =>
  (await database.db.selectFrom('lookupCache').select('key').where('connectionId', '=', ids.connectionId).execute())
    .length;

describe('what was looked up', () => {
  it('is found under its keys as it was written, a missing thing as missing', async () => {
    const text = '{"b":1,"a":"\\u0000","10":1.0}';
    await storeOf().write('run', [value('k', text), value('gone', null), value('k2', '2')]);
    expect(await storeOf().read('run', ['k', 'gone', 'never'])).toEqual(
      new Map([
        ['k', text],
        ['gone', null],
      ]),
    );
    await storeOf().write('run', [value('k', '3')]);
    expect(await storeOf().read('run', ['k'])).toEqual(new Map([['k', '3']]));
    await storeOf().write('run', []);
  });

  it('for a run is seen by that run alone, for a connection by its runs, never by another connection or org', async () => {
    const other = await insertTestConnection(database.db);
    await storeOf().write('run', [value('k', '1')]);
    await storeOf().write('connection', [value('k', '2', 60)]);
    const next = storeOf(ids, 'run_2');
    expect(await next.read('run', ['k'])).toEqual(new Map());
    expect(await next.read('connection', ['k'])).toEqual(new Map([['k', '2']]));
    expect(await storeOf(other).read('connection', ['k'])).toEqual(new Map());
    expect(await storeOf({ ...ids, orgId: other.orgId }).read('connection', ['k'])).toEqual(new Map());
  });

  it('is not found once it has expired, and swept then', async () => {
    await storeOf().write('connection', [value('old', '1', 60), value('new', '2', 60)]);
    await expire('old');
    expect(await storeOf().read('connection', ['old', 'new'])).toEqual(new Map([['new', '2']]));
    await purgeLookupValues(database.db, 1000);
    expect(await count()).toBe(1);
  });

  it('for a run is dropped at its end, without that of others', async () => {
    await storeOf().write('run', [value('k', '1')]);
    await storeOf(ids, 'run_2').write('run', [value('k', '1')]);
    await storeOf().write('connection', [value('k', '1', 60)]);
    await dropLookupValues(database.db, orgScope(ids.orgId), { connectionId: ids.connectionId, runId: 'run_1' });
    expect(await count()).toBe(2);
  });

  it('may be much, and be written by two runs at the same time', async () => {
    const values = Array.from({ length: 2500 }, (_, n) =>
      value(`key-${n}`, `"${'x'.repeat(n % 7 === 0 ? 20_000 : 10)}"`, 60),
    );
    await Promise.all([
      storeOf(ids, 'run_1').write('connection', values),
      storeOf(ids, 'run_2').write('connection', values.toReversed()),
    ]);
    const found = await storeOf().read(
      'connection',
      values.map(({ key }) => key),
    );
    expect(found).toEqual(new Map(values.map(({ key, text }) => [key, text])));
  });
});
