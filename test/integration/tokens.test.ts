import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/client.ts';
import { replaceToken } from '../../db/queries/connections/tokens.ts';
import { orgScope } from '../../db/scope.ts';
import { createTokenStore } from '../../src/connect/token-store.ts';
import { createSecretBox } from '../../src/core/crypto/secret-box.ts';
import { sealToken } from '../../src/core/source/auth/sealed-token.ts';
import { createSharedTokens } from '../../src/core/source/auth/shared-tokens.ts';
import type { Token } from '../../src/core/source/auth/token.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { insertTestConnection } from '../support/service/rows.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const secretBox = createSecretBox([{ id: 'k1', key: new Uint8Array(randomBytes(32)) }]);
const { signal } = new AbortController();
const tokenOf = (accessToken: string): Token => ({
  accessToken,
  expiresAtMs: Date.now() + 3_600_000,
  obtainedAtMs: Date.now(),
  refreshToken: `${accessToken}-refresh`,
  metadata: { site: 'eu' },
});

describe('the token of a connection', () => {
  it('is requested once by many processes, at the start and when it is refused', async () => {
    const { orgId, connectionId } = await insertTestConnection(database.db);
    const processes = Array.from({ length: 4 }, () =>
      openDatabase(database.url, { poolSize: 2, applicationName: 'test', onIdleError() {} }),
    );
    let requests = 0;
    const sources = processes.map((db) =>
      createSharedTokens({
        store: createTokenStore({ db, secretBox }, orgScope(orgId), { connectionId, slot: '' }),
        request: async () => tokenOf(`token-${++requests}`),
        madeFor: 'these',
        bufferMs: 1000,
        mask() {},
        now: () => new Date(),
      }),
    );
    const first = await Promise.all(sources.map((source) => source.current(signal)));
    expect(new Set(first.map(({ accessToken }) => accessToken))).toEqual(new Set(['token-1']));
    const next = await Promise.all(sources.map((source) => source.refresh(signal, tokenOf('token-1'))));
    await Promise.all(processes.map((db) => db.destroy()));
    expect(new Set(next.map(({ accessToken }) => accessToken))).toEqual(new Set(['token-2']));
    expect(requests).toBe(2);
  });

  it('is sealed, and one for each slot', async () => {
    const { connectionId, open } = await connection();
    await save(open(''), 'token-of-spec');
    await save(open('items'), 'token-of-items');
    expect(await open('').read()).toMatchObject({ accessToken: 'token-of-spec', metadata: { site: 'eu' } });
    expect(await open('items').read()).toMatchObject({ accessToken: 'token-of-items' });
    const { rows } = await sql<{ row: string }>`
      select t::text || encode(ciphertext, 'escape') as row from tokens t
      where connection_id = ${connectionId}`.execute(database.db);
    expect(rows).toHaveLength(2);
    for (const { row } of rows) expect(row).not.toContain('token-of');
  });

  it('of another org is not there', async () => {
    const { connectionId, open } = await connection();
    await save(open(''), 'token-of-spec');
    const other = await insertTestConnection(database.db);
    const foreign = createTokenStore({ db: database.db, secretBox }, orgScope(other.orgId), { connectionId, slot: '' });
    expect(await foreign.read()).toBeNull();
    expect(await foreign.lease()).toBeNull();
  });
});

describe('the lease', () => {
  it('is held by one until it is given back', async () => {
    const { open } = await connection();
    const lease = await open('').lease();
    expect(await open('').lease()).toBeNull();
    await lease?.release();
    expect(await open('').lease()).not.toBeNull();
  });

  it('of a process that died runs out, and giving it back late takes it from nobody', async () => {
    const { connectionId, open } = await connection();
    const late = await open('').lease();
    await database.db
      .updateTable('tokens')
      .set({ leaseUntil: sql<string>`now() - interval '1 second'` })
      .where('connectionId', '=', connectionId)
      .execute();
    expect(await open('').lease()).not.toBeNull();
    await late?.release();
    expect(await open('').lease()).toBeNull();
  });

  it('that ran out still saves what was obtained, but nothing over a later token', async () => {
    const { connectionId, open } = await connection();
    const [late, later] = [await open('').lease(), await leaseAgain(connectionId, open(''))];
    await late?.save({ ...tokenOf('late'), madeFor: 'these' });
    expect(await open('').read()).toMatchObject({ accessToken: 'late' });
    await later?.save({ ...tokenOf('later'), madeFor: 'these' });
    expect(await open('').read()).toMatchObject({ accessToken: 'late' });
  });
});

describe('a grant that is new', () => {
  it('is stored at once, and outlives what a refresh of the one before brings', async () => {
    const { orgId, connectionId, open } = await connection();
    const scope = orgScope(orgId);
    const sealed = sealToken(secretBox, { ...tokenOf('new'), madeFor: 'these' }, { orgId, ownerId: connectionId });
    const refresh = await open('').lease();
    await replaceToken(database.db, scope, { connectionId, slot: '', sealed });
    await refresh?.save({ ...tokenOf('refreshed'), madeFor: 'these' });
    expect(await open('').read()).toMatchObject({ accessToken: 'new' });
    const other = await insertTestConnection(database.db);
    await replaceToken(database.db, orgScope(other.orgId), { connectionId, slot: '', sealed });
    expect(await open('').read()).toMatchObject({ accessToken: 'new' });
  });
});

async function connection() {
  const { orgId, connectionId } = await insertTestConnection(database.db);
  const open = (slot: string) =>
    createTokenStore({ db: database.db, secretBox }, orgScope(orgId), { connectionId, slot });
  return { orgId, connectionId, open };
}

type Store = ReturnType<typeof createTokenStore>;

async function save(store: Store, accessToken: string): Promise<void> {
  const lease = await store.lease();
  await lease?.save({ ...tokenOf(accessToken), madeFor: 'these' });
  await lease?.release();
}

/** As if the lease had run out. */
async function leaseAgain(connectionId: string, store: Store) {
  await database.db.updateTable('tokens').set({ leaseUntil: null }).where('connectionId', '=', connectionId).execute();
  return await store.lease();
}
