import { describe, expect, it, test } from 'vitest';
import { decodeJson } from '../source/decode/decode-json.ts';
import { externalIdOf, keylessExternalId, possibleIds } from './external-id.ts';

test.each([
  [{ id: 'a1' }, ['id'], 'a1'],
  [{ id: 17 }, ['id'], '17'],
  [{ user: { id: 'u' } }, ['user.id'], 'u'],
  [{ a: 1, b: { c: 'x,"y' } }, ['a', 'b.c'], '[1,"x,\\"y"]'],
  [{ id: true }, ['id'], 'true'],
])('the key of %j at %j is %s', (record, primaryKey, externalId) => {
  expect(externalIdOf(record, primaryKey)).toEqual({ ok: true, externalId });
});

test('number ids beyond 2^53 stay those of two records', () => {
  const body = Buffer.from('[{"id": 9007199254740992}, {"id": 9007199254740993}]');
  const records = decodeJson(body, { bigNumbers: 'string' }) as readonly unknown[];
  const ids = records.map((record) => externalIdOf(record, ['id']));
  expect(ids).toEqual([
    { ok: true, externalId: '9007199254740992' },
    { ok: true, externalId: '9007199254740993' },
  ]);
});

test('0 and the empty text are keys; null and a missing field are none', () => {
  expect(externalIdOf({ id: 0 }, ['id'])).toEqual({ ok: true, externalId: '0' });
  expect(externalIdOf({ id: '' }, ['id'])).toEqual({ ok: true, externalId: '' });
  expect(externalIdOf({ id: null }, ['id'])).toMatchObject({ ok: false, path: 'id' });
  expect(externalIdOf({ key: 1 }, ['id'])).toMatchObject({ ok: false, path: 'id' });
});

test.each([[{ id: {} }], [{ id: [1] }], ['text'], [null]])('%j has no key', (record) => {
  expect(externalIdOf(record, ['id'])).toMatchObject({ ok: false });
});

test('a prototype is no record field', () => {
  expect(externalIdOf({}, ['constructor.name'])).toMatchObject({ ok: false });
});

test('a key beyond 512 bytes is stored by its digest, so that an index can hold it', () => {
  const longest = externalIdOf({ id: 'é'.repeat(256) }, ['id']);
  expect(longest).toEqual({ ok: true, externalId: 'é'.repeat(256) });
  const long = externalIdOf({ id: `${'é'.repeat(256)}x` }, ['id']);
  expect(long).toMatchObject({ ok: true, externalId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
});

test('a record without a key is quarantined under its own content', () => {
  expect(keylessExternalId('{"a":1}')).toMatch(/^sha256:[0-9a-f]{16}$/);
  expect(keylessExternalId('{"a":1}')).not.toBe(keylessExternalId('{"a":2}'));
});

describe('the ids that a listed key may mean', () => {
  it('are one for a single value, also as a list of one', () => {
    expect(possibleIds(7, 1)).toEqual(['7']);
    expect(possibleIds('x', 1)).toEqual(['x']);
    expect(possibleIds(['x'], 1)).toEqual(['x']);
  });

  it('of several fields are those of its numbers, booleans and their texts', () => {
    expect(possibleIds(['1', 'x'], 2)).toEqual(['["1","x"]', '[1,"x"]']);
    expect(possibleIds([1, 'true'], 2)).toEqual(['[1,"true"]', '[1,true]', '["1","true"]', '["1",true]']);
    expect(possibleIds(['01', '1e3'], 2)).toEqual(['["01","1e3"]']);
  });

  it('are none where it has no value', () => {
    for (const key of [null, undefined, {}, [], [1, null]]) expect(possibleIds(key, 2)).toBe(null);
  });

  it('are none where it has not the fields of the key', () => {
    expect(possibleIds([1, 2, 3], 2)).toBe(null);
    expect(
      possibleIds(
        Array.from({ length: 40 }, () => 1),
        1,
      ),
    ).toBe(null);
  });

  it('are few, however many fields it has', () => {
    expect(possibleIds(['1', 2, '3', 4, 'x', '6', 7, '8'], 8)).toEqual([
      '["1",2,"3",4,"x","6",7,"8"]',
      '[1,2,3,4,"x",6,7,8]',
      '["1","2","3","4","x","6","7","8"]',
    ]);
  });
});
