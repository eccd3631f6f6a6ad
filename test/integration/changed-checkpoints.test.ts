/** The owner of a destination may write anything into the checkpoint that a run reads back from it. */
import { expect, it } from 'vitest';
import { caseFigure } from '../support/security/figure.ts';
import type { Connected } from '../support/sync/connected.ts';
import { useConnections } from '../support/sync/use-connections.ts';

const { api, connection } = useConnections();

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
