import { expect, it } from 'vitest';
import { createKnownRecords, type KnownRecord } from './known-records.ts';

const version: KnownRecord = { hash: 'h1', cursor: null, status: 'delivered' };
const entry = { ...version, externalId: 'a', status: 'delivered', fields: null } as const;

const stored = async (ids: readonly string[]) => ids.map((externalId) => ({ ...version, externalId, hash: 'stored' }));

it('a version on its way is known until the stored one says the same', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', version);
  const hashOf = async (id: string) => {
    using snapshot = await known.snapshot([id]);
    return snapshot.find(id)?.hash;
  };
  expect([await hashOf('a'), await hashOf('b')]).toEqual(['h1', 'stored']);
  known.commit({ records: [{ ...entry, hash: 'older' }], deleted: [] });
  expect(await hashOf('a')).toBe('h1');
  known.commit({ records: [entry], deleted: [] });
  expect(await hashOf('a')).toBe('stored');
});

it.each(['before the snapshot', 'during the snapshot'])(
  'a version noted %s is known to it although its batch is recorded meanwhile',
  async (moment) => {
    const loading = Promise.withResolvers<void>();
    const known = createKnownRecords(async (ids) => loading.promise.then(() => stored(ids)));
    if (moment === 'before the snapshot') known.noteOnWay('a', version);
    const taking = known.snapshot(['a', 'b']);
    if (moment === 'during the snapshot') known.noteOnWay('a', version);
    known.commit({ records: [entry], deleted: [] });
    loading.resolve();
    using snapshot = await taking;
    expect([snapshot.find('a')?.hash, snapshot.find('b')?.hash]).toEqual(['h1', 'stored']);
  },
);

it('a version that will not be stored is forgotten, also by looks that are open', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', version);
  using snapshot = await known.snapshot(['a']);
  known.forget('a', 'h1');
  expect(snapshot.find('a')?.hash).toBe('stored');
  using later = await known.snapshot(['a']);
  expect(later.find('a')?.hash).toBe('stored');
});

it('forgets a recorded batch once the looks from before are closed, also those that failed', async () => {
  let fails = true;
  const known = createKnownRecords(async (ids) => {
    if (fails) throw new Error('no connection');
    return stored(ids);
  });
  await expect(known.snapshot(['a'])).rejects.toThrow('no connection');
  fails = false;
  known.noteOnWay('a', version);
  const before = await known.snapshot(['a']);
  known.commit({ records: [entry], deleted: [] });
  using after = await known.snapshot(['a']);
  expect(before.find('a')?.hash).toBe('h1');
  before[Symbol.dispose]();
  expect(after.find('a')?.hash).toBe('stored');
});

it('a version that is on its way again is not forgotten with the batch of the first time', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', version);
  const before = await known.snapshot(['a']);
  known.commit({ records: [entry], deleted: [] });
  known.noteOnWay('a', { ...version, hash: 'h2' });
  known.noteOnWay('a', { ...version });
  before[Symbol.dispose]();
  using after = await known.snapshot(['a']);
  expect(after.find('a')?.hash).toBe('h1');
});

it('a version that will not be stored gives way to the one before it', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', version);
  known.noteOnWay('a', { ...version, hash: 'bad' });
  known.forget('a', 'bad');
  using snapshot = await known.snapshot(['a']);
  expect(snapshot.find('a')?.hash).toBe('h1');
});

it('a version that will not be stored leaves a newer one, which does not give way to it', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', { ...version, hash: 'bad' });
  known.noteOnWay('a', version);
  known.forget('a', 'bad');
  using snapshot = await known.snapshot(['a']);
  expect(snapshot.find('a')?.hash).toBe('h1');
  known.forget('a', 'h1');
  expect(snapshot.find('a')?.hash).toBe('stored');
});

it('a record that is deleted is forgotten with its batch', async () => {
  const known = createKnownRecords(stored);
  known.noteOnWay('a', { ...version, status: 'deleted' });
  known.commit({ records: [], deleted: ['a'] });
  using snapshot = await known.snapshot(['a']);
  expect(snapshot.find('a')?.hash).toBe('stored');
});
