/** The owner of a destination may write anything into the checkpoint that a run reads back from it. */
import { expect, it } from 'vitest';
import { caseFigure } from '../support/security/figure.ts';
import type { Connected } from '../support/sync/connected.ts';
import { useConnections } from '../support/sync/use-connections.ts';

const { api, connection, shared } = useConnections();

const change = ({ destination }: Connected, receipt: string) =>
  destination.query(`update _css_checkpoint set run_id = 'run_other', receipt = ${receipt}`);

it('a receipt that is not ours ends the run with what to do, and costs the worker nothing', async () => {
  let version = 1;
  api.serve('changed', () => ({ body: [{ id: 1, version }] }));
  const of = await connection('changed', {});
  expect(await of.sync()).toMatchObject({ status: 'succeeded' });
  await change(of, `'{"v":1,"externalIds":[' || repeat('[],', 15000000) || '[]]}'`);
  version = 2;
  const run = await of.sync();
  caseFigure('forgedReceipts', run.error?.code !== 'destination_rejected');
  expect(run).toMatchObject({ status: 'failed', error: { code: 'destination_rejected' } });
  expect(run.error?.message).toContain('Delete its row');
  await of.destination.query('delete from _css_checkpoint');
  expect(await of.sync()).toMatchObject({ status: 'succeeded' });
  expect(await of.rows()).toMatchObject([{ version: '2' }]);
});

const page = {
  pageNo: 9,
  requestKey: 'k',
  recordsIn: 0,
  recordsOut: 0,
  skipped: 0,
  quarantined: 0,
  invalid: 0,
  deleted: 0,
};

it.each<[name: string, parts: object]>([
  ['less_than_nothing', { pages: [{ ...page, recordsOut: -5 }] }],
  ['too_much', { pages: [1, 2, 3].map(() => ({ ...page, recordsOut: 1_000_000_000 })) }],
  ['a_page_twice', { pages: [page, page] }],
  ['a_record_twice', { externalIds: ['1', '1'], hashes: ['aa', 'aa'] }],
  ['an_id_with_nul', { externalIds: ['a\0'], hashes: ['aa'] }],
  ['no_time', { partitions: [{ partition: '', watermark: null, completed: { listedAt: 'x', validators: null } }] }],
])('a receipt with %s ends the run with what to do, and the worker goes on', async (name, parts) => {
  let version = 1;
  api.serve(name, () => ({ body: [{ id: 1, version }] }));
  const of = await connection(name, {});
  const { id, statsJson } = await of.sync();
  const [row] = await of.destination.query('select receipt from _css_checkpoint');
  // A next batch of the first run, as if that had ended before it was recorded.
  const receipt = JSON.stringify({ ...JSON.parse(row?.['receipt'] as string), batchNo: 2, ...parts });
  await of.destination.query(`update _css_checkpoint set batch_no = 2, receipt = '${receipt}'`);
  version = 2;
  expect(await of.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_rejected' } });
  expect((await shared().stack.org.call('GET', `/runs/${id}`)).body.statsJson).toEqual(statsJson);
  await of.destination.query('delete from _css_checkpoint');
  expect(await of.sync()).toMatchObject({ status: 'succeeded' });
});
