import { describe, expect, it } from 'vitest';
import { type Account, type AccountOptions, openAccount } from '../support/account.ts';
import { createScriptedApi, type ScriptedReply } from '../support/scripted-api.ts';
import { useStack } from '../support/use-stack.ts';

const api = createScriptedApi();
const shared = useStack({ answer: api.answer });

const account = (parts: Omit<AccountOptions, 'baseUrl'>): Promise<Account> =>
  openAccount(shared().stack, { baseUrl: shared().upstream.url, ...parts });

interface Row {
  readonly id: number;
  readonly name?: string;
  readonly gone?: boolean;
}

const rowsOf = (...ids: readonly number[]): Row[] => ids.map((id) => ({ id }));
const ten = Array.from({ length: 10 }, (_, no) => no);

/** A resource that is read in full from what `answer` gives. */
function resource(
  key: string,
  deletes: Readonly<Record<string, unknown>>,
  answer: () => readonly Row[] | ScriptedReply,
) {
  api.serve(key, () => {
    const given = answer();
    return 'length' in given ? { body: given } : given;
  });
  return { key, deletes };
}

describe('a record that says of itself that it is deleted', () => {
  const flag = (effect: string) => ({ mode: 'flag', when: 'gone = true', effect });
  const deletedAt = async (of: Account, table: string) =>
    (await of.rows(table, ['_deleted_at'])).map(({ _deleted_at: at }) => at !== null);

  it('is marked, once, and counted as deleted; when it comes back it is delivered and the mark is gone', async () => {
    let rows: readonly Row[] = [{ id: 1 }, { id: 2 }];
    await using of = await account({ key: 'flagged', resources: [resource('flagged', flag('soft'), () => rows)] });
    expect((await of.sync('flagged')).statsJson).toMatchObject({ recordsOut: 2, deleted: 0 });

    rows = [{ id: 1, gone: true }, { id: 2, name: 'new' }, { id: 3 }];
    const { status, statsJson } = await of.sync('flagged');
    expect(status).toBe('succeeded');
    // In = out + skipped + quarantined + deleted by the flag.
    expect(statsJson).toEqual({ recordsIn: 3, recordsOut: 2, skipped: 0, quarantined: 0, deleted: 1 });
    expect(await deletedAt(of, 'flagged')).toEqual([true, false, false]);

    const again = { recordsIn: 3, recordsOut: 0, skipped: 3, quarantined: 0, deleted: 0 };
    expect((await of.sync('flagged')).statsJson).toEqual(again);

    rows = [{ id: 1 }];
    expect((await of.sync('flagged')).statsJson).toMatchObject({ recordsIn: 1, recordsOut: 1 });
    expect(await deletedAt(of, 'flagged')).toEqual([false, false, false]);
  });

  it('is removed where the spec says hard, and arrives anew when it comes back', async () => {
    let rows: readonly Row[] = rowsOf(1, 2);
    await using of = await account({ key: 'removed', resources: [resource('removed', flag('hard'), () => rows)] });
    await of.sync('removed');
    rows = [{ id: 1, gone: true }, { id: 2 }];
    expect((await of.sync('removed')).statsJson).toMatchObject({ deleted: 1, skipped: 1 });
    expect(await of.rows('removed')).toMatchObject([{ id: '2' }]);
    rows = rowsOf(1, 2);
    expect((await of.sync('removed')).statsJson).toMatchObject({ recordsOut: 1, skipped: 1 });
    expect(await of.live('removed')).toEqual(['1', '2']);
  });

  it('and that was never delivered is skipped', async () => {
    const rows = [{ id: 1, gone: true }, { id: 2 }];
    await using of = await account({ key: 'unknown', resources: [resource('unknown', flag('soft'), () => rows)] });
    expect((await of.sync('unknown')).statsJson).toMatchObject({ recordsIn: 2, recordsOut: 1, skipped: 1, deleted: 0 });
    expect(await of.live('unknown')).toEqual(['2']);
  });

  it('and comes again alive behind itself in the same run ends alive', async () => {
    let rows: readonly Row[] = rowsOf(1);
    await using of = await account({ key: 'twice', resources: [resource('twice', flag('soft'), () => rows)] });
    await of.sync('twice');
    rows = [{ id: 1, gone: true }, { id: 1 }];
    expect((await of.sync('twice')).statsJson).toMatchObject({ recordsIn: 2, recordsOut: 1, skipped: 1, deleted: 0 });
    expect(await of.live('twice')).toEqual(['1']);
  });
});

describe('a full scan', () => {
  const scan = { mode: 'full_scan', maxRatio: 0.3, minRecords: 3 };
  const live = (count: number) => ten.slice(0, count).map(String);

  it('deletes what a complete read does not show any more, and takes it back when it reappears', async () => {
    let rows = rowsOf(...ten);
    await using of = await account({ key: 'scanned', resources: [resource('scanned', scan, () => rows)] });
    await of.sync('scanned');
    rows = rowsOf(...ten.slice(0, 7));
    const shrunk = { recordsIn: 7, recordsOut: 0, skipped: 7, quarantined: 0, deleted: 3 };
    expect(await of.sync('scanned')).toMatchObject({ status: 'succeeded', statsJson: shrunk });
    expect(await of.live('scanned')).toEqual(live(7));
    expect((await of.sync('scanned')).statsJson).toMatchObject({ deleted: 0 });
    rows = rowsOf(...ten);
    expect((await of.sync('scanned')).statsJson).toMatchObject({ recordsOut: 3, skipped: 7 });
    expect(await of.live('scanned')).toEqual(live(10));
  });

  it('deletes more than one page of tombstones', async () => {
    let rows = rowsOf(...Array.from({ length: 2600 }, (_, no) => no));
    const hard = { ...scan, effect: 'hard', maxRatio: 1 };
    await using of = await account({ key: 'emptied', resources: [resource('emptied', hard, () => rows)] });
    await of.sync('emptied');
    rows = rowsOf(1);
    expect(await of.sync('emptied')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2599 } });
    expect(await of.live('emptied')).toEqual(['1']);
  });

  it('that misses too much deletes nothing and ends partial, until a forced backfill says that it is true', async () => {
    let rows = rowsOf(...ten);
    await using of = await account({ key: 'braked', resources: [resource('braked', scan, () => rows)] });
    await of.sync('braked');
    rows = rowsOf(...ten.slice(0, 6));
    for (let time = 0; time < 2; time += 1) {
      expect(await of.sync('braked')).toMatchObject({ status: 'partial', error: null, statsJson: { deleted: 0 } });
    }
    expect(await of.live('braked')).toEqual(live(10));
    expect(await of.backfill('braked', { force: true })).toMatchObject({
      status: 'succeeded',
      statsJson: { recordsOut: 6, deleted: 4 },
    });
    expect(await of.live('braked')).toEqual(live(6));
  });

  it('that was held back deletes once the connection allows more', async () => {
    let rows = rowsOf(...ten);
    await using of = await account({ key: 'allowed', resources: [resource('allowed', scan, () => rows)] });
    await of.sync('allowed');
    rows = rowsOf(...ten.slice(0, 5));
    expect((await of.sync('allowed')).status).toBe('partial');
    const resources = [{ key: 'allowed', deletes: { maxRatio: 0.5 } }];
    await of.ask('PATCH', '', { specOverridesJson: { resources } });
    expect(await of.sync('allowed')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 5 } });
  });

  it('needs no brake for fewer than minRecords', async () => {
    let rows = rowsOf(0, 1, 2);
    await using of = await account({ key: 'few', resources: [resource('few', scan, () => rows)] });
    await of.sync('few');
    rows = rowsOf(0);
    expect(await of.sync('few')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });
  });

  it('keeps a record that is quarantined: it is there', async () => {
    let rows: readonly Row[] = rowsOf(1, 2);
    const checked = {
      ...resource('checked', scan, () => rows),
      validate: { schema: { properties: { name: { maxLength: 3 } } } },
      onInvalid: 'quarantine',
    };
    await using of = await account({ key: 'checked', resources: [checked] });
    await of.sync('checked');
    rows = [{ id: 1 }, { id: 2, name: 'too long' }];
    expect(await of.sync('checked')).toMatchObject({ status: 'partial', statsJson: { quarantined: 1, deleted: 0 } });
    expect(await of.live('checked')).toEqual(['1', '2']);
  });

  it.each([
    [
      'whose answer lacks its list',
      { response: { records: 'data', recordsMissing: 'empty' } },
      { body: {} },
      'succeeded',
    ],
    [
      'whose error rule reads it as empty',
      { errors: [{ when: { status: [404] }, action: 'empty' }] },
      { status: 404 },
      'succeeded',
    ],
    ['of which a limit left some', { limits: { maxRecords: 1 } }, undefined, 'partial'],
  ] as const)('deletes nothing after a read %s', async (_what, parts, answer, status) => {
    const key = `scan${Object.keys(parts)[0]?.toLowerCase()}`;
    const paged = { pagination: { kind: 'page', size: 2, inject: { in: 'query', name: 'page' } } };
    const all = rowsOf(1, 2, 3, 4);
    let shrunk = false;
    api.serve(key, (query) => {
      if (shrunk && answer) return answer;
      const from = (Number(query.get('page')) - 1) * 2;
      const page = all.slice(from, from + 2);
      return { body: 'response' in parts ? { data: page } : page };
    });
    const limited = { key, deletes: { ...scan, maxRatio: 1 }, ...paged, ...parts };
    const complete = { ...limited, limits: {} };
    await using of = await account({ key, resources: [complete] });
    await of.sync(key);
    expect(await of.live(key)).toHaveLength(4);
    await of.upgrade('2.0.0', [limited]);
    shrunk = true;
    expect(await of.sync(key)).toMatchObject({ status, statsJson: { deleted: 0 } });
    expect(await of.live(key)).toHaveLength(4);
  });

  it.each([
    ['recordsMissing', { response: { records: 'data' } }],
    ['successWhen', { response: { records: 'data', recordsMissing: 'empty', successWhen: '$not($exists(error))' } }],
  ])('edge case 8: is refused by %s when a 200 carries an error, and deletes nothing', async (rule, parts) => {
    const key = rule.toLowerCase();
    let body: unknown = { data: rowsOf(1, 2) };
    const scanned = { ...resource(key, scan, () => ({ body })), ...parts };
    await using of = await account({ key, resources: [scanned] });
    await of.sync(key);
    body = { error: 'database is down' };
    expect(await of.sync(key)).toMatchObject({ status: 'failed', statsJson: { deleted: 0 } });
    expect(await of.live(key)).toEqual(['1', '2']);
  });

  describe('over partitions', () => {
    const perProject = (key: string, scope: string, rows: Record<string, readonly Row[] | null>) => {
      api.serve(key, (_query, { url }) => {
        const found = rows[url.split('/')[2] ?? ''] ?? null;
        return found === null ? { status: 404 } : { body: found };
      });
      return {
        key,
        primaryKey: ['project', 'id'],
        forEach: [{ as: 'project', values: '{{ params.projects }}' }],
        request: { path: `/${key}/{{ each.project }}` },
        response: { addFields: { project: 'each.project' } },
        errors: [{ when: { status: [404] }, action: 'skip_partition' }],
        deletes: { ...scan, scope },
      };
    };
    const open = (scope: string, rows: Record<string, readonly Row[] | null>, name: string) => {
      const key = `${name}_${scope}`;
      const resources = [perProject(key, scope, rows)];
      return account({ key: key.replace('_', '-'), resources, params: { projects: ['a', 'b'] } });
    };

    it.each([
      ['partition', 1, ['["a",1]', '["b",1]']],
      ['resource', 0, ['["a",1]', '["a",2]', '["b",1]']],
    ])('of scope %s deletes %i of one read while another was refused', async (scope, deleted, left) => {
      const rows: Record<string, readonly Row[] | null> = { a: rowsOf(1, 2), b: rowsOf(1) };
      await using of = await open(scope, rows, 'skipped');
      await of.sync(`skipped_${scope}`);
      Object.assign(rows, { a: rowsOf(1), b: null });
      expect(await of.sync(`skipped_${scope}`)).toMatchObject({ status: 'partial', statsJson: { deleted } });
      expect(await of.live(`skipped_${scope}`)).toEqual(left);
    });

    it.each([
      ['partition', 0],
      ['resource', 1],
    ])('of scope %s deletes %i records of a partition that is there no more', async (scope, deleted) => {
      const rows = { a: rowsOf(1, 2), b: rowsOf(1) };
      await using of = await open(scope, rows, 'dropped');
      await of.sync(`dropped_${scope}`);
      await of.ask('PATCH', '', { params: { projects: ['a'] } });
      expect(await of.sync(`dropped_${scope}`)).toMatchObject({ status: 'succeeded', statsJson: { deleted } });
    });

    it('compares a record that moves to another partition with the one that shows it now', async () => {
      const rows: Record<string, readonly Row[] | null> = { a: rowsOf(1, 2), b: rowsOf(3) };
      const moving = { ...perProject('moving', 'partition', rows), primaryKey: 'id', response: {} };
      await using of = await account({ key: 'moving', resources: [moving], params: { projects: ['b', 'a'] } });
      await of.sync('moving');
      Object.assign(rows, { a: rowsOf(1), b: rowsOf(2, 3) });
      expect(await of.sync('moving')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
      expect(await of.live('moving')).toEqual(['1', '2', '3']);
    });
  });
});

describe('a list of deleted records', () => {
  it('is read over its pages after the records; only those that are known and live count', async () => {
    let listed: readonly number[] = [];
    api.serve('gone', (query) => {
      const from = Number(query.get('offset') ?? 0);
      return { body: { ids: listed.slice(from, from + 2).map((id) => ({ id })) } };
    });
    const deletes = {
      mode: 'endpoint',
      request: { path: '/gone' },
      records: 'ids',
      key: 'id',
      pagination: { kind: 'offset', size: 2, inject: { in: 'query', name: 'offset' } },
    };
    let rows = rowsOf(1, 2, 3);
    await using of = await account({ key: 'listed', resources: [resource('listed', deletes, () => rows)] });
    expect((await of.sync('listed')).statsJson).toMatchObject({ recordsOut: 3, deleted: 0 });
    // The records were already left out of the first list; 7 and 9 were never seen.
    listed = [7, 1, 9, 4, 2];
    rows = [...rowsOf(3), { id: 4 }];
    const stats = { recordsIn: 2, recordsOut: 1, skipped: 1, quarantined: 0, deleted: 3 };
    expect(await of.sync('listed')).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.live('listed')).toEqual(['3']);
    rows = rowsOf(3);
    expect((await of.sync('listed')).statsJson).toMatchObject({ deleted: 0 });
  });

  it('that a rule of the spec gives up leaves the run partial', async () => {
    api.serve('withheld', () => ({ status: 403 }));
    const deletes = { mode: 'endpoint', request: { path: '/withheld' }, key: 'id' };
    const errors = [{ when: { status: [403] }, action: 'skip_partition' }];
    const resources = [{ ...resource('unlisted', deletes, () => rowsOf(1)), errors }];
    await using of = await account({ key: 'unlisted', resources });
    expect(await of.sync('unlisted')).toMatchObject({ status: 'partial', statsJson: { recordsOut: 1, deleted: 0 } });
  });
});
