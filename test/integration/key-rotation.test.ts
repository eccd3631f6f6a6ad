import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countSealed } from '../../db/queries/connections/sealed-values.ts';
import { formatKeyRing } from '../../src/config/key-ring.ts';
import { createSealedEchoes } from '../../src/connect/sealed-echoes.ts';
import { checkKeyRing, WrongKeyRingError } from '../../src/control/orgs/key-ring-check.ts';
import { rotateSealedValues } from '../../src/control/orgs/key-rotation.ts';
import { createSecretBox, type RingKey, type SecretBox } from '../../src/core/crypto/secret-box.ts';
import { newId } from '../../src/core/ids.ts';
import { createLog } from '../../src/log.ts';
import { dumpTables } from '../support/security/planted-secrets.ts';
import {
  openPlanted,
  type Planted,
  plantedTexts,
  plantSealedValues,
  putTestToken,
} from '../support/security/sealed-values.ts';
import { adminFile, runAdmin } from '../support/service/admin.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';
import { insertTestConnection } from '../support/service/rows.ts';
import { laneRuns } from '../support/sync/lane-runs.ts';

const [k1, k2] = [ringKey('k1'), ringKey('k2')];
const [old, both, next] = [createSecretBox([k1]), createSecretBox([k2, k1]), createSecretBox([k2])];
const log = createLog({ level: 'silent', name: 'test' });
const tables = [
  'connection_secrets',
  'tokens',
  'oauth_states',
  'pending_grants',
  'oauth_apps',
  'webhook_endpoint_secrets',
  'hooks',
  'connect_sessions',
];

let database: TestDatabase;
beforeEach(async () => {
  database = await openTestDatabase();
  await checkKeyRing({ db: database.db, secretBox: old, log }, new AbortController().signal);
});
afterEach(() => database[Symbol.asyncDispose]());

function ringKey(id: string): RingKey & { readonly key: Uint8Array } {
  return { id, key: new Uint8Array(randomBytes(32)) };
}

const plant = async (): Promise<Planted> =>
  plantSealedValues(database.db, old, await insertTestConnection(database.db));

const rotate = (progress: () => void = () => {}) =>
  rotateSealedValues({ db: database.db, secretBox: both }, { kekId: 'k2', progress });

const environment = (...ring: (typeof k1)[]) => ({
  ...process.env,
  DATABASE_URL: database.url,
  SECRETS_KEYS: formatKeyRing(ring),
  // Nobody listens there: the tests of this file have no Temporal.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
});

const countUnder = async (kekId: string) =>
  (await countSealed(database.db))
    .filter((counted) => counted.kekId === kekId)
    .reduce((sum, { count }) => sum + count, 0);

describe('a sealed value', () => {
  it.each(tables)('of %s does not open in another row, of the same org or another', async (table) => {
    const [one, two] = [await plant(), await plant()];
    const three = await plantSealedValues(database.db, old, { ...two, connectionId: await siblingOf(two) });
    for (const [victim, thief] of [
      [one, two],
      [two, three],
    ] as const) {
      const opens = async () =>
        (await openPlanted(database.db, old, thief)).filter((text) => text.includes(' of con_'));
      const before = await opens();
      await sql`
        update ${sql.table(table)} t
        set (kek_id, wrapped_key, nonce, ciphertext) = (select s.kek_id, s.wrapped_key, s.nonce, s.ciphertext
          from ${sql.table(table)} s where ${rowOf(table, 's', victim)})
        where ${rowOf(table, 't', thief)}`.execute(database.db);
      const after = await openPlanted(database.db, old, thief);
      expect(after.filter((text) => text.includes('cannot be decrypted'))).toHaveLength(1);
      expect((await opens()).length).toBe(before.length - 1);
    }
  });

  it('of one kind does not open as another', async () => {
    const { connectionId, ...rest } = await plant();
    await sql`
      update tokens t set (kek_id, wrapped_key, nonce, ciphertext) = (
        select kek_id, wrapped_key, nonce, ciphertext from connection_secrets s where s.connection_id = t.connection_id)
      where connection_id = ${connectionId}`.execute(database.db);
    const [params, token] = await openPlanted(database.db, old, { connectionId, ...rest });
    expect(params).toBe(`params of ${connectionId}`);
    expect(token).toContain('cannot be decrypted');
  });
});

describe('rotation', () => {
  it('knows every table with sealed values', async () => {
    const all = await database.db.introspection.getTables();
    const sealed = all.filter(({ columns }) => columns.some(({ name }) => name === 'kek_id'));
    expect(sealed.map(({ name }) => name).toSorted()).toEqual([...tables, 'secret_canary'].toSorted());
    await plant();
    expect((await countSealed(database.db)).map(({ count }) => count)).toEqual(tables.map(() => 1));
  });

  it('leaves every value to open with the new key alone, and changes nothing when it is repeated', async () => {
    const planted = [await plant(), await plant()];
    const { rewrapped, left, unopened } = await rotate();
    expect(Object.values(rewrapped)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect({ left, unopened }).toEqual({ left: 0, unopened: [] });
    for (const each of planted) {
      expect(await openPlanted(database.db, next, each)).toEqual(plantedTexts(each));
      expect((await openPlanted(database.db, old, each)).join()).not.toContain(each.connectionId);
    }
    const again = await rotate();
    expect(Object.values(again.rewrapped).filter((count) => count > 0)).toEqual([]);
  });

  it('leaves a value that is replaced meanwhile to its writer, and wraps what the writer stored', async () => {
    const planted = await plant();
    const [locked, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writer = database.db.transaction().execute(async (tx) => {
      await putTestToken(tx, old, { ...planted, accessToken: 'refreshed' });
      locked.resolve();
      await written.promise;
    });
    await locked.promise;
    const rotation = await rotate(() => written.resolve());
    await writer;
    expect(rotation.left).toBe(0);
    expect((await openPlanted(database.db, next, planted))[1]).toBe('refreshed');
  });

  it('goes beside writers: whatever they stored last is what opens', async () => {
    const planted = await Promise.all(Array.from({ length: 5 }, () => plant()));
    const rotation = { over: false };
    const writers = planted.map(async (each, index) => {
      for (let n = 0; !rotation.over || n < 3; n += 1) {
        const box = (n + index) % 2 === 0 ? both : old;
        await putTestToken(database.db, box, { ...each, accessToken: `token ${n}` });
        expect((await openPlanted(database.db, both, each))[1]).toBe(`token ${n}`);
      }
    });
    await rotate();
    rotation.over = true;
    await Promise.all(writers);
    expect((await rotate()).left).toBe(0);
    for (const each of planted) expect((await openPlanted(database.db, next, each))[1]).toMatch(/^token \d+$/);
  });

  it('tells which values do not open, and does the others', async () => {
    const [damaged, whole] = [await plant(), await plant()];
    const { connectionId, orgId } = damaged;
    await sql`update tokens set wrapped_key = sha256(wrapped_key) where connection_id = ${connectionId}`.execute(
      database.db,
    );
    const { unopened, left } = await rotate();
    expect(left).toBe(1);
    const reason = expect.stringContaining('cannot be decrypted');
    expect(unopened).toEqual([{ table: 'tokens', orgId, owner: connectionId, reason }]);
    expect(await openPlanted(database.db, next, whole)).toEqual(plantedTexts(whole));
  });
});

describe('the texts in which an API has repeated a secret', () => {
  const { twoRuns, attempt } = laneRuns(() => database.db);
  const secret = 'https://api.example/?key=s3cret';

  /** A connection with such a text wherever one is stored. */
  async function repeated() {
    const { db } = database;
    const { scope, connectionId, first, begin } = await twoRuns();
    await begin(first);
    const { laneId } = await attempt(scope, first);
    const echoesOf = (box: SecretBox) =>
      createSealedEchoes(box, scope, { connectionId, hasSecret: (text) => text.includes('s3cret') });
    const hidden = () => echoesOf(old).hide(secret);
    const [document, { orgId }] = [() => JSON.stringify({ at: hidden(), more: [hidden()] }), scope];
    await sql`
      update runs set position = ${document()}::jsonb, watermark_before = ${hidden()}, watermark_after = ${hidden()}
      where id = ${first}`.execute(db);
    await sql`
      insert into partitions (org_id, lane_id, partition, watermark, first_start, deletions_to, validators, pending)
      values (${orgId}, ${laneId}, 'p', ${hidden()}, ${hidden()}, ${hidden()}, ${document()}::jsonb, ${document()}::jsonb)`.execute(
      db,
    );
    await sql`
      insert into run_dimensions (org_id, run_id, dimension, no, key, value)
      values (${orgId}, ${first}, 0, 0, 'k', ${document()}::jsonb)`.execute(db);
    await sql`
      insert into lookup_cache (org_id, connection_id, run_id, key, value, expires_at)
      values (${orgId}, ${connectionId}, '', 'k', ${hidden()}, now() + interval '1 day')`.execute(db);
    await sql`
      insert into record_state (lane_id, external_id, status, hash, cursor, fields)
      values (${laneId}, 'r', 'delivered', '', ${hidden()}, ${document()}::jsonb)`.execute(db);
    await sql`
      insert into listed_deletions (lane_id, external_id, partition, state, deleted_at, listed_run)
      values (${laneId}, 'r', '', 'due', ${hidden()}, 1)`.execute(db);
    await sql`
      insert into outboxes (org_id, lane_id, address, run_id, batch_no, receipt, carried_run_id, carried_receipt,
        pending_run_id, pending_batch_no, pending_draft, pending_rejected)
      values (${orgId}, ${laneId}, ${echoesOf(old).seal('address')}, ${first}, 1, ${document()}, ${first}, ${document()},
        ${first}, 2, ${document()}, '[]')`.execute(db);
    await sql`
      insert into quarantine (id, org_id, connection_id, resource_key, external_id, raw_json, sealed_json,
        validation_errors, run_id)
      values (${`quar_${first}`}, ${orgId}, ${connectionId}, 'a', 'r', '{}', ${hidden()}, '[]', ${first})`.execute(db);
    const stored = async () => {
      const { rows } = await sql<{ position: object; value: string; address: string; draft: string; record: string }>`
        select runs.position, lookup_cache.value, outboxes.address, outboxes.pending_draft as draft, sealed_json as record
        from runs, lookup_cache, outboxes, quarantine
        where runs.id = ${first} and lookup_cache.connection_id = ${connectionId} and outboxes.lane_id = ${laneId}
          and quarantine.connection_id = ${connectionId}`.execute(db);
      const [row] = rows;
      if (!row) throw new Error('There are rows.');
      return { ...row, draft: JSON.parse(row.draft) };
    };
    return { connectionId, stored, echoesOf };
  }

  it('open with the new key alone, in every table, and not with the old one', async () => {
    const { stored, echoesOf } = await repeated();
    expect(await dumpTables(database)).toContain('sealed:k1.');
    const { rewrapped, left } = await rotate();
    expect({ ...rewrapped, left }).toMatchObject({
      ...{
        runs: 1,
        partitions: 1,
        runDimensions: 1,
        lookupCache: 1,
        recordState: 1,
        listedDeletions: 1,
        quarantine: 1,
        outboxes: 1,
      },
      left: 0,
    });
    expect(await dumpTables(database)).not.toContain('sealed:k1.');
    const plain = { at: secret, more: [secret] };
    expect(echoesOf(next).reveal(await stored(), null)).toEqual({
      ...{ position: plain, value: secret, draft: plain, record: secret },
      address: 'address',
    });
    expect(echoesOf(old).reveal(await stored(), 'lost')).toBe('lost');
  });

  it('are counted by the commands, until the last is under the new key', async () => {
    await repeated();
    const useOf = async (id: string) => {
      const { stdout } = await runAdmin(environment(k2, k1), 'keys', 'status', '--json');
      return JSON.parse(stdout).keys.find((key: { readonly id: string }) => key.id === id);
    };
    expect(await useOf('k1')).toMatchObject({
      sealed: {
        runs: 4,
        partitions: 7,
        runDimensions: 2,
        lookupCache: 1,
        recordState: 3,
        listedDeletions: 1,
        quarantine: 1,
        outboxes: 7,
      },
      removable: false,
    });
    const { stdout } = await runAdmin(environment(k2, k1), 'keys', 'rotate', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ left: 0, rewrapped: { runs: 1, outboxes: 1 } });
    expect(await useOf('k1')).toMatchObject({ sealed: {} });
  });

  it('count as not stored where no key of the ring opens them, whoever has written them', async () => {
    const { connectionId } = await repeated();
    const junk = JSON.stringify({ 'sealed:k1.AAAA.BBBB.CCCC': 'sealed:k1.AAAA.BBBB.CCCC', of: 'sealed:gone.A.B.C' });
    await sql`update runs set position = ${junk}::jsonb where connection_id = ${connectionId}`.execute(database.db);
    expect(await rotate()).toMatchObject({ left: 0, unopened: [] });
    const { rows } = await sql<{ position: string }>`
      select position::text from runs where connection_id = ${connectionId} limit 1`.execute(database.db);
    expect(JSON.parse(rows[0]?.position ?? '')).toEqual(JSON.parse(junk));
  });

  it('are left to a run that writes them, and done once it has', async () => {
    await repeated();
    const [locked, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writer = database.db.transaction().execute(async (tx) => {
      await sql`select id from runs for update`.execute(tx);
      locked.resolve();
      await written.promise;
    });
    await locked.promise;
    const rotation = await rotate(() => written.resolve());
    await writer;
    expect(rotation.left).toBe(0);
    expect(await dumpTables(database)).not.toContain('sealed:k1.');
  });
});

describe('the command', () => {
  it('that is killed in the middle has harmed nothing, and a repeated one does the rest', async () => {
    const planted = await plant();
    const slots = Array.from({ length: 600 }, (_slot, n) => `slot${n}`);
    await Promise.all(slots.map((slot) => putTestToken(database.db, old, { ...planted, slot, accessToken: slot })));
    const child = spawn(process.execPath, [adminFile, 'keys', 'rotate'], { env: environment(k2, k1) });
    const ended = once(child, 'exit');
    for await (const chunk of child.stderr) {
      if (!String(chunk).includes('tokens: ')) continue;
      child.kill('SIGKILL');
      break;
    }
    await ended;
    expect(await countUnder('k1')).toBeGreaterThan(0);
    expect(await countUnder('k2')).toBeGreaterThan(0);
    expect(await openPlanted(database.db, both, planted)).toEqual(plantedTexts(planted));
    const tooEarly = checkKeyRing({ db: database.db, secretBox: next, log }, new AbortController().signal);
    await expect(tooEarly).rejects.toThrow(WrongKeyRingError);

    const { stdout, stderr } = await runAdmin(environment(k2, k1), 'keys', 'rotate', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ current: 'k2', left: 0, unopened: [] });
    expect(stderr).toContain('tokens: ');
    expect(await countUnder('k1')).toBe(0);
    expect(await openPlanted(database.db, next, planted)).toEqual(plantedTexts(planted));
  });

  it('is refused a ring that does not open what is stored, and so is every process', async () => {
    const { exitCode, stdout, stderr } = await runAdmin(environment(ringKey('k2')), 'keys', 'status');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^SECRETS_KEYS cannot decrypt what is stored: k1 is missing.*\n$/);
    await runAdmin(environment(k2, k1), 'keys', 'rotate');
    // A canary of the new key is there: the old key alone does not start any more.
    const check = checkKeyRing({ db: database.db, secretBox: old, log }, new AbortController().signal);
    await expect(check).rejects.toThrow(WrongKeyRingError);
  });
});

/** Another connection of the same org. */
async function siblingOf({ connectionId }: Planted): Promise<string> {
  const id = newId('con');
  await sql`
    insert into connections select (jsonb_populate_record(c, jsonb_build_object('id', ${id}::text))).*
    from connections c where id = ${connectionId}`.execute(database.db);
  return id;
}

/** The row of a table in which a planted value is. */
function rowOf(table: string, alias: string, { connectionId, endpointId, appId }: Planted) {
  const [column, id] =
    table === 'webhook_endpoint_secrets'
      ? ['endpoint_id', endpointId]
      : table === 'oauth_apps'
        ? ['id', appId]
        : ['connection_id', connectionId];
  return sql`${sql.ref(`${alias}.${column}`)} = ${id}`;
}
