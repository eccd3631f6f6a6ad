import { expect, it } from 'vitest';
import { dumpTables, searchForSecrets } from '../support/security/planted-secrets.ts';
import type { Account } from '../support/sync/account.ts';
import { useAccounts } from '../support/sync/use-accounts.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const { account, shared } = useAccounts(api);

/** A user and a number that records have too; the place is in the spec as well. */
const planted = { login: 'ada.lovelace', number: '4711008815' };
const secrets = { ...planted, place: 'region-alpha' };
const replacements = { login: 'another login', number: '9990001112' };

const first = { id: 1, at: 1, owner: planted.login, account: Number(planted.number), count: 'many' };
const delivered = { id: '1', owner: first.owner, account: planted.number };

/** A resource that shows `rows` once, and is read in one place. */
function read(key: string, rows: readonly object[], parts: object) {
  api.serve(key, (query) => ({ body: (query.get('since') ?? '') === '' ? rows : [] }));
  return {
    key,
    forEach: [{ as: 'place', values: '{{ ["region-alpha"] }}' }],
    request: { path: `/${key}`, query: { place: '{{ each.place }}', since: '{{ watermark }}' } },
    incremental: { kind: 'cursor', cursor: { field: 'at', type: 'integer' }, order: 'asc' },
    ...parts,
  };
}

/** Where a planted secret stands in plain, in what is stored beside the table of the customer. */
async function found({ destination }: Account) {
  const checkpoints = JSON.stringify(await destination.query('select * from _css_checkpoint'));
  return searchForSecrets({ tables: await dumpTables(shared().stack), checkpoints }, planted);
}

const requeue = async (id = '') => await shared().stack.org.call('POST', `/quarantine/${id}/requeue`);

it('a record that repeats secrets is enriched by a later run, and delivered as it was read', async () => {
  let isAway = true;
  api.serve('plans', () => (isAway ? { status: 400 } : { body: { name: 'basic' } }));
  const resource = read('enriched', [first], {
    enrich: [{ assignTo: 'plan', key: 'record.id', request: { path: '/plans/{{ key }}' }, onError: 'null' }],
    transform: '{ "id": id, "owner": owner, "account": account, "place": $each.place, "plan": $lookups.plan.name }',
  });
  await using of = await account({ key: 'enriched', resources: [resource], secrets });
  expect(await of.sync('enriched')).toMatchObject({ status: 'succeeded', notes: { degraded: 1 } });
  const inPlace = { ...delivered, place: secrets.place };
  expect(await of.rows('enriched')).toEqual([inPlace]);
  expect(await found(of)).toEqual([]);
  await of.sync('enriched');
  expect(await of.rows('enriched')).toEqual([inPlace]);
  isAway = false;
  expect(await of.sync('enriched')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  expect(await of.rows('enriched')).toMatchObject([{ ...inPlace, plan: 'basic' }]);
  expect(await found(of)).toEqual([]);
  expect((await of.sync('enriched')).statsJson).toMatchObject({ recordsIn: 0 });
});

const countedBy = (count: string) => ({
  transform: `{ "id": id, "owner": owner, "account": account, "place": $each.place, "count": ${count} }`,
  onInvalid: 'quarantine',
});

it('a quarantined record that repeats secrets is delivered as it was read, also once they are replaced', async () => {
  const resource = read('mended', [first], countedBy('$number(count)'));
  await using of = await account({ key: 'mended', resources: [resource], secrets });
  expect(await of.sync('mended')).toMatchObject({ status: 'partial', statsJson: { quarantined: 1 } });
  const [open] = await of.quarantine();
  expect(open).toMatchObject({ rawJson: { id: 1, owner: '[redacted]', account: '[redacted]', count: 'many' } });
  expect(JSON.stringify(open)).not.toContain('sealed');
  await of.ask('PATCH', '', { secrets: replacements });
  await requeue(open?.id);
  expect(await of.sync('mended')).toMatchObject({ status: 'partial', statsJson: { quarantined: 1 } });
  expect(await of.quarantine()).toEqual([open]);
  expect(await found(of)).toEqual([]);
  await requeue(open?.id);
  await of.upgrade('2.0.0', [{ ...resource, ...countedBy('count = "many" ? 99 : count') }]);
  expect(await of.sync('mended')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  expect(await of.rows('mended')).toMatchObject([{ ...delivered, place: secrets.place, count: '99' }]);
  expect(await found(of)).toEqual([]);
});

it.each([
  ['gone', 'sealed:gone.AAAA.BBBB.CCCC'],
  ['never', 'lost'],
])(
  'a record whose original is lost stays in quarantine and says so, and its masked form is not delivered: %s',
  async (key, sealedJson) => {
    const resource = read(key, [first], countedBy('$number(count)'));
    await using of = await account({ key, resources: [resource], secrets });
    await of.sync(key);
    const [open] = await of.quarantine();
    const { db } = shared().stack;
    await db
      .updateTable('quarantine')
      .set({ sealedJson })
      .where('id', '=', open?.id ?? '')
      .execute();
    await requeue(open?.id);
    await of.upgrade('2.0.0', [{ ...resource, ...countedBy('99') }]);
    expect(await of.sync(key)).toMatchObject({ status: 'partial', statsJson: { recordsOut: 0, quarantined: 1 } });
    const validationErrors = [
      { path: '', keyword: 'sealed', message: expect.stringContaining('A backfill with force') },
    ];
    expect(await of.quarantine()).toEqual([{ ...open, validationErrors }]);
    api.serve(key, () => ({ body: [first] }));
    expect(await of.backfill(key)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await of.rows(key)).toMatchObject([delivered]);
    expect(await of.quarantine()).toMatchObject([{ resolvedAt: expect.any(String) }]);
  },
);
