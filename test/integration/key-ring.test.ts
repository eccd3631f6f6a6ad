import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteCanaries, findCanaries } from '../../db/queries/orgs/canary.ts';
import { checkKeyRing, WrongKeyRingError } from '../../src/control/orgs/key-ring-check.ts';
import { createSecretBox } from '../../src/core/crypto/secret-box.ts';
import { createLog } from '../../src/log.ts';
import { openTestDatabase, type TestDatabase } from '../support/service/database.ts';

const log = createLog({ level: 'silent', name: 'test' });
const key = (id: string) => ({ id, key: new Uint8Array(randomBytes(32)) });

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

it('refuses a process whose key ring does not open what is stored, and takes one with a key added in front', async () => {
  const first = key('k1');
  const check = (...ring: (typeof first)[]) =>
    checkKeyRing({ db: database.db, secretBox: createSecretBox(ring), log }, AbortSignal.timeout(20_000));
  await check(first);
  await check(key('k2'), first);
  await expect(check(key('k1'))).rejects.toThrow(WrongKeyRingError);
  await expect(check(key('k2'))).rejects.toThrow(/SECRETS_KEYS/);
});

it('refuses a process that lacks a key of an earlier or a later ring, and names it', async () => {
  await using fresh = await openTestDatabase();
  const [k1, k2] = [key('k1'), key('k2')];
  const check = (...ring: (typeof k1)[]) =>
    checkKeyRing({ db: fresh.db, secretBox: createSecretBox(ring), log }, AbortSignal.timeout(20_000));
  await check(k1);
  await check(k2, k1);
  await expect(check(k1)).rejects.toThrow(/k2 is missing/);
  await expect(check(k2)).rejects.toThrow(/k1 is missing/);
  await deleteCanaries(fresh.db, ['k1']);
  await check(k2);
});

it('lets one of two first processes with different rings start', async () => {
  await using fresh = await openTestDatabase();
  const check = (id: string) =>
    checkKeyRing({ db: fresh.db, secretBox: createSecretBox([key(id)]), log }, AbortSignal.timeout(20_000));
  const outcomes = await Promise.allSettled([check('k1'), check('k2')]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await findCanaries(fresh.db)).toHaveLength(1);
});
