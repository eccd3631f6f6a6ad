import { expect, it } from 'vitest';
import { createKnownRecords, type KnownRecord } from './known-records.ts';

const version: KnownRecord = { hash: 'h1', cursor: null, status: 'delivered' };
const entry = { ...version, externalId: 'a', status: 'delivered', fields: null } as const;

const stored = async (ids: readonly string[]) => ids.map((externalId) => ({ ...version, externalId, hash: 'stored' }));

it('a version on its way is known until the stored one says the same', async () => {
  const known = createKnownRecords(stored);
  known.expect('a', version);
  const hashOf = async (id: string) => {
    using look = await known.look([id]);
    return look.find(id)?.hash;
  };
  expect([await hashOf('a'), await hashOf('b')]).toEqual(['h1', 'stored']);
  known.settle({ records: [{ ...entry, hash: 'older' }], deleted: [] });
  expect(await hashOf('a')).toBe('h1');
  known.settle({ records: [entry], deleted: [] });
  expect(await hashOf('a')).toBe('stored');
});

it.each(['before the look', 'during the look'])(
  'a version noted %s is known to it although its batch is recorded meanwhile',
  async (moment) => {
    const loading = Promise.withResolvers<void>();
    const known = createKnownRecords(async (ids) => loading.promise.then(() => stored(ids)));
    if (moment === 'before the look') known.expect('a', version);
    const looking = known.look(['a', 'b']);
    if (moment === 'during the look') known.expect('a', version);
    known.settle({ records: [entry], deleted: [] });
    loading.resolve();
    using look = await looking;
    expect([look.find('a')?.hash, look.find('b')?.hash]).toEqual(['h1', 'stored']);
  },
);

it('a version that will not be stored is forgotten, also by looks that are open', async () => {
  const known = createKnownRecords(stored);
  known.expect('a', version);
  using look = await known.look(['a']);
  known.forget('a');
  expect(look.find('a')?.hash).toBe('stored');
  using later = await known.look(['a']);
  expect(later.find('a')?.hash).toBe('stored');
});

it('forgets a recorded batch once the looks from before are closed, also those that failed', async () => {
  let fails = true;
  const known = createKnownRecords(async (ids) => {
    if (fails) throw new Error('no connection');
    return stored(ids);
  });
  await expect(known.look(['a'])).rejects.toThrow('no connection');
  fails = false;
  known.expect('a', version);
  const before = await known.look(['a']);
  known.settle({ records: [entry], deleted: [] });
  using after = await known.look(['a']);
  expect(before.find('a')?.hash).toBe('h1');
  before[Symbol.dispose]();
  expect(after.find('a')?.hash).toBe('stored');
});

it('a version that is on its way again is not forgotten with the batch of the first time', async () => {
  const known = createKnownRecords(stored);
  known.expect('a', version);
  const before = await known.look(['a']);
  known.settle({ records: [entry], deleted: [] });
  known.expect('a', { ...version, hash: 'h2' });
  known.expect('a', { ...version });
  before[Symbol.dispose]();
  using after = await known.look(['a']);
  expect(after.find('a')?.hash).toBe('h1');
});

it('a version that will not be stored gives way to the one before it', async () => {
  const known = createKnownRecords(stored);
  known.expect('a', version);
  known.expect('a', { ...version, hash: 'bad' });
  known.forget('a');
  using look = await known.look(['a']);
  expect(look.find('a')?.hash).toBe('h1');
});

it('a record that is deleted is forgotten with its batch', async () => {
  const known = createKnownRecords(stored);
  known.expect('a', { ...version, status: 'deleted' });
  known.settle({ records: [], deleted: ['a'] });
  using look = await known.look(['a']);
  expect(look.find('a')?.hash).toBe('stored');
});
