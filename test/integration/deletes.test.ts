import { describe, expect, it } from 'vitest';
import { type Account } from '../support/sync/account.ts';
import { useSharedAccounts } from '../support/sync/use-accounts.ts';
import {
  type ListedResourceOptions,
  type ListedRow,
  listedResource,
  rowsOf,
} from '../support/upstream/listed-resource.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account } = useSharedAccounts(api);

const resource = (key: string, deletes: ListedResourceOptions['deletes'], reply: ListedResourceOptions['reply']) =>
  listedResource(api, key, { deletes, reply });

describe('a record that says of itself that it is deleted', () => {
  const flag = (effect: string) => ({ mode: 'flag', when: 'gone = true', effect });
  const deletedAt = async (of: Account, table: string) =>
    (await of.rows(table, ['_deleted_at'])).map(({ _deleted_at: at }) => at !== null);

  it('is marked, once, and counted as deleted; when it comes back it is delivered and the mark is gone', async () => {
    let rows: readonly ListedRow[] = [{ id: 1 }, { id: 2 }];
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
    let rows: readonly ListedRow[] = rowsOf(1, 2);
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
    let rows: readonly ListedRow[] = rowsOf(1);
    await using of = await account({ key: 'twice', resources: [resource('twice', flag('soft'), () => rows)] });
    await of.sync('twice');
    rows = [{ id: 1, gone: true }, { id: 1 }];
    expect((await of.sync('twice')).statsJson).toMatchObject({ recordsIn: 2, recordsOut: 1, skipped: 1, deleted: 0 });
    expect(await of.live('twice')).toEqual(['1']);
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
    const stats = { recordsIn: 2, recordsOut: 1, skipped: 1, quarantined: 0, deleted: 2 };
    expect(await of.sync('listed')).toMatchObject({ status: 'succeeded', statsJson: stats });
    // 4 was read although it is listed: it lives until a read lacks it.
    expect(await of.live('listed')).toEqual(['3', '4']);
    rows = rowsOf(3);
    expect((await of.sync('listed')).statsJson).toMatchObject({ deleted: 1 });
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
