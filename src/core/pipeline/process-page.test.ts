import { afterAll, describe, expect, it, vi } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import type { JsonObject } from '../json/json-object.ts';
import type { PageOutcome } from '../model/page-outcome.ts';
import { checkSpec } from '../spec/check/check.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { countingTurns } from '../work/turns-fixture.ts';
import { createKnownRecords, type KnownRecord } from './known-records.ts';
import { createPipeline } from './process-page.ts';

const evaluator = createTestEvaluator();
afterAll(() => evaluator[Symbol.asyncDispose]());

const shape = {
  transform: '{ "id": id, "name": $uppercase(name) }',
  validate: { schema: { type: 'object', required: ['name'], properties: { name: { type: 'string', maxLength: 5 } } } },
};

describe('the pipeline', () => {
  it('delivers new records transformed, with the entry that makes them known', async () => {
    const { outcomes, skipped } = await pipeline(shape)([{ id: 1, name: 'ada' }]);
    expect(skipped).toBe(0);
    expect(outcomes).toMatchObject([
      { kind: 'deliver', row: { externalId: '1', data: { id: 1, name: 'ADA' } }, entry: { status: 'delivered' } },
    ]);
  });

  it('skips a record whose fingerprint is known, and takes it up again when it changes', async () => {
    const first = await pipeline(shape)([{ id: 1, name: 'ada' }]);
    const stored = storedFrom(first);
    expect((await pipeline(shape, stored)([{ name: 'ada', id: 1 }])).outcomes).toEqual([]);
    expect((await pipeline(shape, stored)([{ id: 1, name: 'bob' }])).outcomes).toHaveLength(1);
  });

  it('delivers known records again when the spec shapes them otherwise', async () => {
    const stored = storedFrom(await pipeline(shape)([{ id: 1, name: 'ada' }]));
    const reshaped = { ...shape, transform: '{ "id": id, "name": name }' };
    expect((await pipeline(reshaped, stored)([{ id: 1, name: 'ada' }])).outcomes).toHaveLength(1);
  });

  it('counts a known record as carried once, a retried one never: its deletion may have been carried', async () => {
    const stored = storedFrom(await pipeline(shape)([{ id: 1, name: 'ada' }]));
    const selected = async (origin: 'fetched' | 'retried', status: KnownRecord['status']) => {
      const stages = stagesOf(shape, [{ ...(stored[0] as StoredRecord), status }], ['1']);
      const page = { ...fetched([{ id: 1, name: 'ada' }]), origin };
      const { carried, skipped } = await stages.shape(await stages.select(page));
      return { carried, skipped };
    };
    expect(await selected('fetched', 'delivered')).toEqual({ carried: 1, skipped: 0 });
    expect(await selected('retried', 'deleted')).toEqual({ carried: 0, skipped: 1 });
  });

  it('ignores the declared paths when it compares', async () => {
    const resource = { ...shape, changeDetection: { ignore: ['meta.seen'] } };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'ada', meta: { seen: 1, rank: 1 } }]));
    const run = pipeline(resource, stored);
    expect((await run([{ id: 1, name: 'ada', meta: { seen: 2, rank: 1 } }])).skipped).toBe(1);
    expect((await run([{ id: 1, name: 'ada', meta: { seen: 2, rank: 2 } }])).skipped).toBe(0);
  });

  it('sees a version that is still on its way to the destination', async () => {
    const run = pipeline(shape);
    await run([{ id: 1, name: 'ada' }]);
    expect((await run([{ id: 1, name: 'ada' }])).skipped).toBe(1);
  });

  it('says whether nothing is known of what is left of a page', async () => {
    const run = pipeline(shape, storedFrom(await pipeline(shape)([{ id: 1, name: 'ada' }])));
    const allNew = async (...records: unknown[]) => (await run(records)).allNew;
    expect(await allNew({ id: 1, name: 'ada' }, { id: 2, name: 'bob' })).toBe(true);
    expect(await allNew({ id: 3, name: 'eve' }, { id: 1, name: 'eva' })).toBe(false);
    expect(await allNew({ id: 2, name: 'bo' })).toBe(false);
    expect(await allNew({ id: 4, name: 'a' }, { id: 4, name: 'b' })).toBe(false);
    const unknowing = await pipeline({ ...shape, changeDetection: { mode: 'none' } })([{ id: 1, name: 'ada' }]);
    expect(unknowing.allNew).toBe(false);
  });

  it('skips a version older than the known one', async () => {
    const resource = {
      ...shape,
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' },
    };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'new', at: '2026-01-02T00:00:00Z' }]));
    const run = pipeline(resource, stored);
    expect((await run([{ id: 1, name: 'old', at: '2026-01-01T23:59:58+00:00' }])).skipped).toBe(1);
    expect((await run([{ id: 1, name: 'newer', at: '2026-01-02T00:00:00.001Z' }])).skipped).toBe(0);
  });

  it('delivers what is known again where it is told to, but of the versions that it reads itself the newest', async () => {
    const resource = {
      ...shape,
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'desc' },
    };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'known', at: '2026-01-05T00:00:00Z' }]));
    const stages = stagesOf(resource, stored, [], true);
    const versions = [
      { id: 1, name: 'new', at: '2026-01-02T00:00:00Z' },
      { id: 1, name: 'old', at: '2026-01-01T00:00:00Z' },
    ];
    const page = await stages.shape(await stages.select(fetched(versions)));
    expect(page.outcomes).toMatchObject([{ row: { data: { name: 'NEW' } } }]);
  });

  it('takes a version for a newer one whose server may be behind that of the one before', async () => {
    const resource = {
      ...shape,
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' },
    };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'old', at: '2026-01-02T00:00:00.900Z' }]));
    const page = await pipeline(resource, stored)([{ id: 1, name: 'new', at: '2026-01-02T00:00:00.200Z' }]);
    expect(page.skipped).toBe(0);
  });

  it('takes a reading that the clock shows twice for the later one, rather than lose a version', async () => {
    const cursor = { field: 'at', type: 'datetime', timezone: 'Europe/Berlin' };
    const resource = { ...shape, incremental: { kind: 'cursor', cursor, order: 'asc' } };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'first', at: '2025-10-26 02:50:00' }]));
    const run = pipeline(resource, stored);
    expect((await run([{ id: 1, name: 'older', at: '2025-10-26 01:50:00' }])).skipped).toBe(1);
    expect((await run([{ id: 1, name: 'later', at: '2025-10-26 02:10:00' }])).skipped).toBe(0);
  });

  it('compares the version field alone where the resource has one', async () => {
    const resource = { ...shape, changeDetection: { mode: 'field', field: 'meta.etag' } };
    const stored = storedFrom(await pipeline(resource)([{ id: 1, name: 'ada', meta: { etag: 'a' } }]));
    const run = pipeline(resource, stored);
    expect((await run([{ id: 1, name: 'bob', meta: { etag: 'a' } }])).skipped).toBe(1);
    expect((await run([{ id: 1, name: 'bob', meta: { etag: 'b' } }])).skipped).toBe(0);
    expect((await run([{ id: 1, name: 'eve' }])).skipped).toBe(0);
    expect((await run([{ id: 1, name: 'eva' }])).skipped).toBe(0);
  });

  it('counts what is invalid, whether it is quarantined or skipped', async () => {
    const records = [{ id: 1, name: 'ada' }, { id: 9, name: 'too long' }, { name: 'no key' }];
    expect((await pipeline({ ...shape, onInvalid: 'quarantine' })(records)).invalid).toBe(2);
    expect((await pipeline({ ...shape, onInvalid: 'skip' })(records)).invalid).toBe(2);
  });

  it('takes a column from where the target says its value is', async () => {
    const resource = { target: { columns: { city: { type: 'text', path: 'address.city' } } } };
    const { outcomes } = await pipeline(resource)([{ id: 1, address: { city: 'Oslo' } }]);
    expect(outcomes).toMatchObject([{ row: { data: { id: 1, city: 'Oslo' } } }]);
  });

  it('drops what the filter does not keep', async () => {
    const run = pipeline({ ...shape, filter: 'status != "test"' });
    const { recordsIn, skipped, outcomes } = await run([
      { id: 1, name: 'ada', status: 'test' },
      { id: 2, name: 'bob', status: 'live' },
    ]);
    expect({ recordsIn, skipped, kept: outcomes.length }).toEqual({ recordsIn: 2, skipped: 1, kept: 1 });
  });

  describe('a delivered record that leaves the filter', () => {
    const filter = 'status != "test"';
    const stored = ['1', '3'].map((externalId) => ({
      externalId,
      hash: 'h',
      cursor: null,
      status: 'delivered' as const,
    }));
    const records = [
      { id: 1, status: 'test' },
      { id: 2, status: 'test' },
      { id: 3, status: 'live' },
    ];

    it.each([
      ['full_scan', { mode: 'full_scan', effect: 'hard' }],
      ['flag', { mode: 'flag', when: 'status = "gone"', effect: 'hard' }],
    ])('is deleted where deletes are found by %s, and was not seen', async (_mode, deletes) => {
      const { outcomes, skipped, seen, notes } = await pipeline({ filter, deletes }, stored)(records);
      // A full scan finds it missing.
      const scans = deletes.mode === 'full_scan';
      expect(outcomes).toMatchObject([
        ...(scans ? [] : [{ kind: 'flag', record: { externalId: '1' }, isUndelivered: false }]),
        { kind: 'deliver', row: { externalId: '3' } },
      ]);
      expect([skipped, seen, notes]).toEqual(scans ? [2, ['3'], {}] : [1, [], {}]);
    });

    it('stays where deletes are not found, and the run says so', async () => {
      const { outcomes, skipped, notes } = await pipeline({ filter }, stored)(records);
      expect(outcomes).toMatchObject([{ kind: 'deliver', row: { externalId: '3' } }]);
      expect([skipped, notes]).toEqual([2, { left_filter: 1 }]);
    });
  });

  it('deletes a record that says so, whether the filter keeps it or not', async () => {
    const resource = { filter: 'status = "live"', deletes: { mode: 'flag', when: 'status = "gone"' } };
    const stored = [{ externalId: '1', hash: 'h', cursor: null, status: 'delivered' as const }];
    const { outcomes } = await pipeline(resource, stored)([{ id: 1, status: 'gone' }]);
    expect(outcomes).toMatchObject([{ kind: 'flag', record: { externalId: '1' } }]);
  });

  it.each([
    ['a missing key', { name: 'x' }, 'primaryKey'],
    ['a null key', { id: null, name: 'x' }, 'primaryKey'],
    ['a NUL character', { id: 9, name: 'a\0b' }, 'record'],
    ['half a surrogate pair', { id: 9, name: '\ud800' }, 'record'],
    ['a transform that throws', { id: 9, name: 7 }, 'transform'],
    ['a schema failure', { id: 9, name: 'too long' }, 'maxLength'],
  ])('quarantines a record with %s and nothing else', async (_case, bad, keyword) => {
    const run = pipeline({ ...shape, onInvalid: 'quarantine' });
    const { outcomes } = await run([{ id: 1, name: 'ada' }, bad, { id: 2, name: 'bob' }]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['deliver', 'quarantine', 'deliver']);
    expect(outcomes[1]).toMatchObject({ row: { errors: [{ keyword }] }, entry: { status: 'quarantined' } });
  });

  it('quarantines a record once: unchanged it is skipped afterwards', async () => {
    const resource = { ...shape, onInvalid: 'quarantine' };
    const bad = [{ id: 9, name: 'too long' }, { name: 'no key' }];
    const stored = storedFrom(await pipeline(resource)(bad));
    expect((await pipeline(resource, stored)(bad)).skipped).toBe(2);
  });

  it('keeps no secret that the API echoed into a quarantined record', async () => {
    const { outcomes } = await pipeline({ ...shape, onInvalid: 'quarantine' })([{ id: 9, name: 'Bearer s3cret' }]);
    expect(JSON.stringify(outcomes.map((outcome) => outcome.kind === 'quarantine' && outcome.row))).not.toContain(
      's3cret',
    );
  });

  it.each([
    ['a number', { id: 9, name: 'too long', account: 123456 }],
    ['a text with quotes', { id: 9, name: 'too long', a: 'x p"w\\d"1 y' }],
    ['a name', { id: 9, name: 'too long', 'p"w\\d"1': { s3cret: 's3cret' } }],
  ])('keeps a quarantined record readable when its secret is %s', async (_what, record) => {
    const { outcomes } = await pipeline({ ...shape, onInvalid: 'quarantine' })([record]);
    const [row] = outcomes.flatMap((outcome) => (outcome.kind === 'quarantine' ? [outcome.row] : []));
    expect(JSON.parse(row?.rawJson ?? '')).toMatchObject({ id: 9, name: 'too long' });
    expect(row?.rawJson).not.toMatch(/123456|w.*d"1|s3cret/);
    expect(row?.rawJson).toContain('[redacted]');
    expect(unsealed(row?.sealed)).toEqual({ raw: record, each: {} });
  });

  it('keeps the values of its partition as they were, and seals nothing of a record without secrets', async () => {
    const rowOf = async (each: JsonObject) => {
      const quarantines = stagesOf({ ...shape, onInvalid: 'quarantine' });
      const { outcomes } = await quarantines.shape(
        await quarantines.select({ records: [{ id: 9, name: 'too long' }], each, origin: 'fetched' }),
      );
      return outcomes.flatMap((outcome) => (outcome.kind === 'quarantine' ? [outcome.row] : []))[0];
    };
    expect((await rowOf({ project: 'a' }))?.sealed).toBeUndefined();
    const row = await rowOf({ project: 's3cret' });
    expect(row?.each).toEqual({ project: '[redacted]' });
    expect(unsealed(row?.sealed)).toEqual({ raw: { id: 9, name: 'too long' }, each: { project: 's3cret' } });
  });

  it('keeps nothing of a retried record, which its row has', async () => {
    const retries = [{ id: 'quar_1', version: '', isLast: true }];
    const retrying = stagesOf({ ...shape, onInvalid: 'quarantine' });
    const page = { records: [{ id: 9, name: 'Bearer s3cret' }], each: {}, origin: 'retried', retries } as const;
    expect(await retrying.shape(await retrying.select(page))).toMatchObject({
      outcomes: [{ kind: 'quarantine', row: { id: 'quar_1', isAgain: true, rawJson: 'null', each: {} } }],
    });
  });

  it.each(['hash', 'none'])('does not deliver a retried record that nobody can open: changes by %s', async (mode) => {
    const retries = [{ id: 'quar_1', version: '', isLast: true, lostId: '9' }];
    const retrying = stagesOf({ changeDetection: { mode } });
    const page = { records: [{ id: '[redacted]' }], each: {}, origin: 'retried', retries } as const;
    const errors = [{ path: '', keyword: 'sealed', message: expect.stringContaining('A backfill with force') }];
    expect(await retrying.shape(await retrying.select(page))).toMatchObject({
      outcomes: [{ kind: 'quarantine', row: { id: 'quar_1', externalId: '9', errors }, entry: null }],
    });
    // It is not known as delivered: what the run fetches of it is.
    const fetch = await retrying.shape(await retrying.select(fetched([{ id: 9 }])));
    expect(fetch).toMatchObject({ outcomes: [{ kind: 'deliver', row: { externalId: '9' } }] });
  });

  it('keeps no secret in the path of an issue', async () => {
    const validate = { schema: { additionalProperties: false, properties: { id: {} } } };
    const { outcomes } = await pipeline({ validate, onInvalid: 'quarantine' })([{ id: 9, s3cret: 1 }]);
    expect(outcomes).toMatchObject([{ row: { errors: [{ path: '[redacted]' }] } }]);
    await expect(pipeline({ validate })([{ id: 9, s3cret: 1 }])).rejects.toThrow('at "*"');
  });

  it('names only declared properties in the error of a run: a record may have data in the others', async () => {
    const byPerson = { properties: { visits: { additionalProperties: { type: 'number' } } } };
    const run = pipeline({ validate: { schema: byPerson } })([{ id: 9, visits: { 'ann@example.com': 'x' } }]);
    await expect(run).rejects.toThrow('at "visits.*');
    await expect(run).rejects.not.toThrow('ann');
  });

  it('lets other work have its turn while it goes through a large page', async () => {
    const records = Array.from({ length: 30_000 }, (_, id) => ({ id, name: 'ada', tags: ['a', 'b'], at: { n: id } }));
    const stages = stagesOf({ validate: shape.validate });
    using clock = vi.spyOn(performance, 'now');
    clock.mockImplementation(passing());
    const { selection, turns } = await countingTurns(async () => ({
      selection: await stages.select(fetched(records)),
    }));
    expect(turns).toBeGreaterThan(1000);
    const shaped = await countingTurns(async () => ({ page: await stages.shape(selection) }));
    expect(shaped.turns).toBeGreaterThan(1000);
    expect(shaped.page.outcomes).toHaveLength(30_000);
  });

  it('counts an invalid record as skipped where the resource says so', async () => {
    const { skipped, outcomes } = await pipeline({ ...shape, onInvalid: 'skip' })([{ id: 9, name: 'too long' }]);
    expect({ skipped, outcomes }).toEqual({ skipped: 1, outcomes: [] });
  });

  it.each(['fail', 'skip', 'quarantine'])(
    'quarantines a record that is tried again anew under onInvalid %s',
    async (onInvalid) => {
      const stages = stagesOf({ ...shape, onInvalid });
      const retried = { ...fetched([{ id: 9, name: 'too long' }]), origin: 'retried' } as const;
      const { outcomes, invalid } = await stages.shape(await stages.select(retried));
      expect(outcomes).toMatchObject([{ kind: 'quarantine' }]);
      // The brake on invalid records checks what the API gives.
      expect(invalid).toBe(0);
    },
  );

  it('fails the run on an invalid record by default, without showing a value', async () => {
    const failing = pipeline(shape)([{ id: 9, name: 'secret-name' }]);
    await expect(failing).rejects.toMatchObject({ code: 'record_invalid', message: expect.stringContaining('"name"') });
    await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining('secret-name') });
  });

  it('delivers every record, known or not, where changes are not detected', async () => {
    const run = pipeline({ ...shape, changeDetection: { mode: 'none' } });
    await run([{ id: 1, name: 'ada' }]);
    const { outcomes } = await run([{ id: 1, name: 'ada' }]);
    expect(outcomes).toMatchObject([{ kind: 'deliver', entry: null }]);
  });

  it('gives the same rows for the same page: the clock of expressions is the start of the run', async () => {
    const resource = { transform: '{ "id": id, "at": $now() }' };
    const [one, two] = await Promise.all([pipeline(resource)([{ id: 1 }]), pipeline(resource)([{ id: 1 }])]);
    expect(one.outcomes).toEqual(two.outcomes);
    expect(one.outcomes).toMatchObject([{ row: { data: { at: '2026-01-01T00:00:00.000Z' } } }]);
  });
});

describe('columns with a path', () => {
  const columns = Object.fromEntries(
    Array.from({ length: 300 }, (_, nth) => [`c${nth}`, { type: 'text', path: 'text' }]),
  );

  it('may have the value of one field in many columns, but not gigabytes of a page', async () => {
    const run = (length: number) => pipeline({ target: { columns } })([{ id: 1, text: 'x'.repeat(length) }]);
    expect((await run(100)).outcomes).toMatchObject([{ row: { data: { c299: 'x'.repeat(100) } } }]);
    await expect(run(1_000_000)).rejects.toMatchObject({
      code: 'spec_invalid',
      message: expect.stringContaining('more than 250 MB on one page'),
    });
  });
});

/** A clock that goes on by a millisecond whenever it is looked at. */
const passing = () => {
  let ms = 0;
  return () => (ms += 1);
};

function pipeline(parts: Record<string, unknown>, stored: readonly StoredRecord[] = []) {
  const stages = stagesOf(parts, stored);
  return async (records: readonly unknown[]) => stages.shape(await stages.select(fetched(records)));
}

const fetched = (records: readonly unknown[]) => ({ records, each: {}, origin: 'fetched' }) as const;

function stagesOf(
  parts: Record<string, unknown>,
  stored: readonly StoredRecord[] = [],
  carried: readonly string[] = [],
  redeliver = false,
) {
  const known = createKnownRecords(async (ids) => stored.filter(({ externalId }) => ids.includes(externalId)), carried);
  const startedAt = new Date('2026-01-01T00:00:00Z');
  return createPipeline({
    resource: resourceOf(parts),
    params: {},
    lookups: {},
    runId: 'run_1',
    startedAt,
    known,
    storedFields: null,
    enrich: null,
    redeliver,
    evaluator,
    redact,
    seal: (text) => Buffer.from(text).toString('base64'),
  });
}

const unsealed = (sealed = '') => JSON.parse(Buffer.from(sealed, 'base64').toString());

const redact = (text: string) =>
  ['s3cret', '123456', 'p"w\\d"1'].reduce((masked, secret) => masked.replaceAll(secret, '[redacted]'), text);

type StoredRecord = KnownRecord & { readonly externalId: string };

const storedFrom = ({ outcomes }: PageOutcome): StoredRecord[] =>
  outcomes.flatMap((outcome) => ('entry' in outcome && outcome.entry !== null ? [outcome.entry] : []));

function resourceOf(parts: Record<string, unknown>): Resource {
  const result = checkSpec({
    metadata: { key: 't', name: 'T', version: '1.0.0' },
    http: { baseUrl: 'https://api.example.com' },
    resources: [{ key: 'things', primaryKey: 'id', request: { path: '/things' }, ...parts }],
  });
  const resource = result.valid ? result.spec.resources[0] : undefined;
  if (!resource) throw new Error(JSON.stringify(result));
  return resource;
}
