import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
