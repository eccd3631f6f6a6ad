import { expect, it } from 'vitest';
import { createKnownRecords, type KnownRecord } from './known-records.ts';

const version: KnownRecord = { hash: 'h1', cursor: null, status: 'delivered' };
const entry = { ...version, externalId: 'a', status: 'delivered', fields: null } as const;

it('a version on its way is known until the stored one says the same', async () => {
  const known = createKnownRecords(async (ids) =>
    ids.map((externalId) => ({ ...version, externalId, hash: 'stored' })),
  );
  known.expect('a', version);
  expect([...(await known.find(['a', 'b'])).values()].map(({ hash }) => hash)).toEqual(['h1', 'stored']);
  known.settle({ records: [{ ...entry, hash: 'older' }], deleted: [] });
  expect((await known.find(['a'])).get('a')?.hash).toBe('h1');
  known.settle({ records: [entry], deleted: [] });
  expect((await known.find(['a'])).get('a')?.hash).toBe('stored');
});

it('a version stays known when its batch is recorded while others are loaded', async () => {
  const known = createKnownRecords(async () => {
    known.settle({ records: [entry], deleted: [] });
    return [];
  });
  known.expect('a', version);
  expect((await known.find(['a', 'b'])).get('a')).toEqual(version);
});

it('a version that will not be stored is forgotten', async () => {
  const known = createKnownRecords(async () => []);
  known.expect('a', version);
  known.forget('a');
  expect((await known.find(['a'])).size).toBe(0);
});
