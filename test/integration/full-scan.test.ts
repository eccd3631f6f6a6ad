import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { noteLacking } from '../../db/queries/runs/maintenance/restored.ts';
import { orgScope } from '../../db/scope.ts';
import { holdWrites } from '../support/service/sql-gate.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import {
  type ListedResourceOptions,
  type ListedRow,
  listedResource,
  rowsOf,
} from '../support/upstream/listed-resource.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

const resource = (key: string, deletes: ListedResourceOptions['deletes'], reply: ListedResourceOptions['reply']) =>
  listedResource(api, key, { deletes, reply });

const ten = Array.from({ length: 10 }, (_, no) => no);

describe('a full scan', () => {
  const scan = { mode: 'full_scan', maxRatio: 0.3, minRecords: 3 };
  const live = (count: number) => ten.slice(0, count).map(String);
  let scans = 0;

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

  it('deletes a row that a restored control database does not know', async () => {
    let rows = rowsOf(...ten.slice(0, 3));
    await using of = await account({ key: 'restored', resources: [resource('restored', scan, () => rows)] });
    await of.sync('restored');
    const { db } = shared().stack;
    const ofLane = sql`lane_id = (select id from lanes where connection_id = ${of.connectionId})`;
    await sql`delete from record_state where ${ofLane} and external_id = '2'`.execute(db);
    const lane = await db
      .selectFrom('lanes')
      .select(['id', 'orgId'])
      .where('connectionId', '=', of.connectionId)
      .executeTakeFirstOrThrow();
    await noteLacking(db, orgScope(lane.orgId), lane.id);
    rows = rowsOf(0, 1);
    expect((await of.sync('restored')).statsJson).toMatchObject({ recordsOut: 0, deleted: 1 });
    expect(await of.live('restored')).toEqual(live(2));
    const { rows: lanes } = await sql`
      select lacks_records from lanes where connection_id = ${of.connectionId}`.execute(db);
    expect(lanes).toEqual([{ lacksRecords: false }]);
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

  it('goes on with its tombstones when its worker dies, and sends none twice', async () => {
    let rows = rowsOf(...Array.from({ length: 2600 }, (_, no) => no));
    const hard = { ...scan, effect: 'hard', maxRatio: 1 };
    await using of = await account({ key: 'buried', resources: [resource('buried', hard, () => rows)] });
    await of.sync('buried');
    await of.destination.audit('buried');
    rows = rowsOf(1);
    const { stack } = shared();
    await using gate = await holdWrites(stack.databaseUrl, {
      table: 'run_pages',
      on: 'insert',
      when: 'new.deleted > 0',
    });
    const runId = await of.request('buried');
    // The first thousand are gone at the destination, which nobody has recorded.
    await gate.reached();
    await stack.killWorker('SIGKILL');
    await gate.open();
    await stack.startWorker();
    const stats = { recordsIn: 1, recordsOut: 0, skipped: 1, quarantined: 0, deleted: 2599 };
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: stats });
    expect(await of.live('buried')).toEqual(['1']);
    expect(await of.destination.writes()).toMatchObject({ inserts: 0, updates: 0, deletes: 2599 });
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
    let rows: readonly ListedRow[] = rowsOf(1, 2);
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
      'whose response lacks its list',
      { response: { records: 'data', recordsMissing: 'empty' } },
      { body: {} },
      'partial',
    ],
    [
      'whose error rule reads it as empty',
      { errors: [{ when: { status: [404] }, action: 'empty' }] },
      { status: 404 },
      'partial',
    ],
    ['that fails', {}, { status: 400 }, 'failed'],
  ] as const)('deletes nothing after a read %s', async (_what, parts, reply, status) => {
    const key = `scan${(scans += 1)}`;
    const paged = { pagination: { kind: 'page', size: 2, inject: { in: 'query', name: 'page' } } };
    const all = rowsOf(1, 2, 3, 4);
    let shrunk = false;
    api.serve(key, (query) => {
      if (shrunk) return reply;
      const from = (Number(query.get('page')) - 1) * 2;
      const page = all.slice(from, from + 2);
      return { body: 'response' in parts ? { data: page } : page };
    });
    const scanned = { key, deletes: { ...scan, maxRatio: 1 }, ...paged, ...parts };
    await using of = await account({ key, resources: [scanned] });
    await of.sync(key);
    expect(await of.live(key)).toHaveLength(4);
    shrunk = true;
    expect(await of.sync(key)).toMatchObject({ status, statsJson: { deleted: 0 } });
    expect(await of.live(key)).toHaveLength(4);
  });

  it.each([
    ['recordsMissing', { response: { records: 'data' } }],
    ['successWhen', { response: { records: 'data', recordsMissing: 'empty', successWhen: '$not($exists(error))' } }],
  ])('is refused by %s when a 200 carries an error, and deletes nothing', async (rule, parts) => {
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
    const perProject = (key: string, scope: string, rows: Record<string, readonly ListedRow[] | null>) => {
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
    const open = (scope: string, rows: Record<string, readonly ListedRow[] | null>, name: string) => {
      const key = `${name}_${scope}`;
      const resources = [perProject(key, scope, rows)];
      return account({ key: key.replaceAll('_', '-'), resources, params: { projects: ['a', 'b'] } });
    };

    it.each(['partition', 'resource'])('of scope %s deletes of one read while another was refused', async (scope) => {
      const rows: Record<string, readonly ListedRow[] | null> = { a: rowsOf(1, 2), b: rowsOf(1) };
      await using of = await open(scope, rows, 'skipped');
      await of.sync(`skipped_${scope}`);
      Object.assign(rows, { a: rowsOf(1), b: null });
      expect(await of.sync(`skipped_${scope}`)).toMatchObject({ status: 'partial', statsJson: { deleted: 1 } });
      expect(await of.live(`skipped_${scope}`)).toEqual(['["a",1]', '["b",1]']);
    });

    it.each([
      ['partition', 0],
      ['resource', 1],
    ])('of scope %s deletes %i records of a partition that is there no more', async (scope, deleted) => {
      const rows = { a: rowsOf(1, 2), b: rowsOf(1) };
      await using of = await open(scope, rows, 'dropped');
      await of.sync(`dropped_${scope}`);
      await of.ask('PATCH', '', { params: { projects: ['a'] }, allowDeletes: scope === 'resource' });
      expect(await of.sync(`dropped_${scope}`)).toMatchObject({ status: 'succeeded', statsJson: { deleted } });
    });

    it('of scope resource deletes what is left when no partition is there any more, once that is confirmed', async () => {
      await using of = await open('resource', { a: rowsOf(1), b: rowsOf(2) }, 'no_more');
      await of.sync('no_more_resource');
      await of.ask('PATCH', '', { params: { projects: [] }, allowDeletes: true });
      expect(await of.sync('no_more_resource')).toMatchObject({ status: 'partial', statsJson: { deleted: 0 } });
      const forced = await of.backfill('no_more_resource', { force: true });
      expect(forced).toMatchObject({ status: 'succeeded', statsJson: { deleted: 2 } });
      expect(await of.live('no_more_resource')).toEqual([]);
    });

    it('compares a record that moves to another partition with the one that shows it now', async () => {
      const rows: Record<string, readonly ListedRow[] | null> = { a: rowsOf(1, 2), b: rowsOf(3) };
      const moving = { ...perProject('moving', 'partition', rows), primaryKey: 'id', response: {} };
      await using of = await account({ key: 'moving', resources: [moving], params: { projects: ['b', 'a'] } });
      await of.sync('moving');
      Object.assign(rows, { a: rowsOf(1), b: rowsOf(2, 3) });
      expect(await of.sync('moving')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0 } });
      expect(await of.live('moving')).toEqual(['1', '2', '3']);
    });

    it('leaves a record alone that a later partition shows now', async () => {
      const rows: Record<string, readonly ListedRow[] | null> = { a: rowsOf(1, 2), b: rowsOf(3) };
      const moved = { ...perProject('moved', 'partition', rows), primaryKey: 'id', response: {} };
      await using of = await account({ key: 'moved', resources: [moved], params: { projects: ['a', 'b'] } });
      await of.sync('moved');
      Object.assign(rows, { a: rowsOf(1), b: rowsOf(2, 3) });
      expect(await of.sync('moved')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 0, recordsOut: 0 } });
      expect(await of.live('moved')).toEqual(['1', '2', '3']);
    });

    it('deletes nothing when all of many small partitions come empty: the brake is of the run', async () => {
      const projects = Array.from({ length: 30 }, (_, no) => `p${no}`);
      const rows: Record<string, readonly ListedRow[] | null> = {};
      for (const [no, project] of projects.entries()) rows[project] = rowsOf(2 * no, 2 * no + 1);
      const small = { ...perProject('small', 'partition', rows), deletes: { mode: 'full_scan', scope: 'partition' } };
      await using of = await account({ key: 'small', resources: [small], params: { projects } });
      await of.sync('small');
      for (const project of projects) rows[project] = [];
      const held = { status: 'partial', notes: { deletes_held_back: 1 }, statsJson: { deleted: 0 } };
      expect(await of.sync('small')).toMatchObject(held);
      expect(await of.live('small')).toHaveLength(60);
      for (const project of projects.slice(5)) rows[project] = rowsOf(1);
      expect(await of.sync('small')).toMatchObject(held);
      const forced = await of.backfill('small', { force: true });
      expect(forced).toMatchObject({ status: 'succeeded', statsJson: { deleted: 60 } });
    });

    it('keeps a record of two partitions until none of them has it, whichever was read', async () => {
      const rows: Record<string, readonly ListedRow[] | null> = { a: rowsOf(1, 9), b: rowsOf(2, 9) };
      const inBoth = { ...perProject('two', 'partition', rows), primaryKey: 'id', response: {} };
      await using of = await account({ key: 'two', resources: [inBoth], params: { projects: ['a', 'b'] } });
      await of.sync('two');
      Object.assign(rows, { a: null, b: rowsOf(2) });
      expect(await of.sync('two')).toMatchObject({ status: 'partial', statsJson: { deleted: 0 } });
      expect(await of.live('two')).toEqual(['1', '2', '9']);
      Object.assign(rows, { a: rowsOf(1) });
      expect(await of.sync('two')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
      expect(await of.live('two')).toEqual(['1', '2']);
    });

    it('says aloud that a partition whose list is not there keeps its records, and deletes those of the others', async () => {
      const rows: Record<string, readonly ListedRow[] | null> = { a: rowsOf(1, 2), b: rowsOf(1), c: null };
      const errors = [{ when: { status: [404] }, action: 'empty' }];
      const quiet = { ...perProject('aloud', 'resource', rows), errors };
      await using of = await account({ key: 'aloud', resources: [quiet], params: { projects: ['a', 'b', 'c'] } });
      expect((await of.sync('aloud')).status).toBe('succeeded');
      rows['a'] = rowsOf(1);
      // Nothing is known of the partition that has never been there.
      expect(await of.sync('aloud')).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
      rows['b'] = null;
      expect(await of.sync('aloud')).toMatchObject({ status: 'partial', notes: { list_missing: 1 } });
      expect(await of.live('aloud')).toEqual(['["a",1]', '["b",1]']);
    });
  });

  it.each(['quarantine', 'skip'])(
    'deletes nothing while an entry of its list has no readable key (%s)',
    async (onInvalid) => {
      const key = `keyless_${onInvalid}`;
      let rows: readonly unknown[] = [{ id: 'a' }, { id: 'b' }];
      api.serve(key, () => ({ body: rows }));
      await using of = await account({ key: key.replace('_', '-'), resources: [{ key, deletes: scan, onInvalid }] });
      await of.sync(key);
      rows = [{ id: 'a' }, { ID: 'b' }];
      const run = await of.sync(key);
      expect(run).toMatchObject({ status: 'partial', notes: { key_missing: 1 }, statsJson: { deleted: 0 } });
      expect(await of.live(key)).toEqual(['a', 'b']);
      rows = [{ id: 'a' }];
      expect((await of.sync(key)).statsJson.deleted).toBeGreaterThan(0);
      expect(await of.live(key)).toEqual(['a']);
    },
  );

  it('deletes nothing after a read that found no record at all, however few are known', async () => {
    let rows = rowsOf(1, 2);
    await using of = await account({ key: 'none', resources: [resource('none', scan, () => rows)] });
    await of.sync('none');
    rows = [];
    expect(await of.sync('none')).toMatchObject({ status: 'partial', notes: { deletes_held_back: 1 } });
    expect(await of.live('none')).toEqual(['1', '2']);
    expect(await of.backfill('none', { force: true })).toMatchObject({
      status: 'succeeded',
      statsJson: { deleted: 2 },
    });
  });

  describe('whose first page is short in the middle of its list', () => {
    const twelve = Array.from({ length: 12 }, (_, no) => String(no + 10));
    /** The API leaves out a row of page 1 after it has cut the list into pages of four. */
    const shortened = (key: string, kind: string) => {
      const state = { isShort: false };
      api.serve(key, (query) => {
        const from = kind === 'offset' ? Number(query.get(kind)) : (Number(query.get(kind)) - 1) * 4;
        const ids = twelve.slice(from, from + 4).filter((id) => !state.isShort || id !== '13');
        return { body: ids.map((id) => ({ id })) };
      });
      return { state, list: { key, pagination: { kind, size: 4, inject: { in: 'query', name: kind } } } };
    };
    const run = {
      page: { status: 'succeeded', notes: {} },
      // An offset names a row that does not follow the one before.
      offset: { status: 'partial', notes: { list_moved: 1 }, statsJson: { deleted: 0 } },
    };
    const left = { page: twelve.filter((id) => id !== '13'), offset: twelve };

    it.each(['page', 'offset'] as const)('reads on behind it: the rows of page 2 live, by %s', async (kind) => {
      const key = `short_${kind}`;
      const { state, list } = shortened(key, kind);
      await using of = await account({
        key: `short-${kind}`,
        resources: [{ ...list, deletes: { ...scan, maxRatio: 1 } }],
      });
      await of.sync(key);
      state.isShort = true;
      expect(await of.sync(key)).toMatchObject(run[kind]);
      expect(await of.live(key)).toEqual(left[kind]);
    });

    it.each(['page', 'offset'] as const)('reads on behind it for a table that is replaced, by %s', async (kind) => {
      const key = `short_new_${kind}`;
      const { state, list } = shortened(key, kind);
      const resources = [{ ...list, target: { mode: 'replace', maxRatio: 1 } }];
      await using of = await account({ key: `short-new-${kind}`, resources });
      await of.sync(key);
      state.isShort = true;
      expect(await of.sync(key)).toMatchObject(run[kind]);
      expect(await of.live(key)).toEqual(left[kind]);
    });

    it.each(['page', 'offset'] as const)('reads on behind it for the children of live parents, by %s', async (kind) => {
      const [key, below] = [`short_up_${kind}`, `short_below_${kind}`];
      const { state, list } = shortened(key, kind);
      api.serve(below, (_query, { url }) => ({ body: [{ id: url.split('/')[2] }] }));
      const children = {
        key: below,
        forEach: [{ as: 'up', resource: key, from: 'live' }],
        request: { path: `/${below}/{{ each.up.id }}` },
        deletes: { ...scan, maxRatio: 1 },
      };
      await using of = await account({ key: `short-up-${kind}`, resources: [list, children] });
      await of.sync(below);
      state.isShort = true;
      expect(await of.sync(below)).toMatchObject(run[kind]);
      expect(await of.live(below)).toEqual(left[kind]);
    });
  });

  it('deletes a record that as many complete reads in a row lack as the spec wants', async () => {
    let rows = rowsOf(1, 2, 3);
    const confirmed = { ...scan, confirm: 2 };
    await using of = await account({ key: 'flicker', resources: [resource('flicker', confirmed, () => rows)] });
    await of.sync('flicker');
    const deleted = async (...ids: readonly number[]) => {
      rows = rowsOf(...ids);
      const { status, statsJson } = await of.sync('flicker');
      return [status, statsJson.deleted];
    };
    expect(await deleted(1, 2)).toEqual(['succeeded', 0]);
    expect(await deleted(1, 3)).toEqual(['succeeded', 0]);
    expect(await deleted(1, 2)).toEqual(['succeeded', 0]);
    expect(await deleted(1, 2)).toEqual(['succeeded', 1]);
    expect(await of.live('flicker')).toEqual(['1', '2']);
  });

  it('counts no read that has a gap among them', async () => {
    let page = { data: rowsOf(1, 2, 3), total: 3 };
    api.serve('counted', () => ({ body: page }));
    const counted = { key: 'counted', response: { records: 'data', total: 'body.total' } };
    await using of = await account({ key: 'counted', resources: [{ ...counted, deletes: { ...scan, confirm: 2 } }] });
    await of.sync('counted');
    const reads = async (ids: readonly number[], total: number) => {
      page = { data: rowsOf(...ids), total };
      const { status, statsJson } = await of.sync('counted');
      return [status, statsJson.deleted];
    };
    expect(await reads([1, 2], 3)).toEqual(['partial', 0]);
    expect(await reads([1, 2], 2)).toEqual(['succeeded', 0]);
    // It shows the record, so the count starts again.
    await reads([1, 2, 3], 4);
    expect(await reads([1, 2], 2)).toEqual(['succeeded', 0]);
    expect(await reads([1, 2], 2)).toEqual(['succeeded', 1]);
  });
});
