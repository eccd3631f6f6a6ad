import { expect, it } from 'vitest';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { orgScope } from '../../db/scope.ts';
import type { Connected } from '../support/sync/connected.ts';
import { useConnections } from '../support/sync/use-connections.ts';

const { api, connection, shared } = useConnections();

const call = async (method: string, path: string, body?: object) => {
  const reply = await shared().stack.org.call(method, path, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  return reply.body;
};
const setToken = ({ id }: Connected, token: string) => call('PATCH', `/connections/${id}`, { secrets: { token } });
const statusOf = async ({ id }: Connected) => (await call('GET', `/connections/${id}`)).status;

const serve = (name: string) =>
  api.serve(name, (_, { headers }) =>
    headers['authorization'] === 'Bearer right' ? { body: [{ id: 1 }] } : { status: 401, body: {} },
  );

it('a run whose credentials are refused after they were replaced goes on with the new ones', async () => {
  serve('replaced');
  const of = await connection('replaced', {});
  await setToken(of, 'wrong');
  const first = shared().upstream.hold(shared().upstream.journal.length + 1);
  const runId = await of.request();
  await first.reached;
  await setToken(of, 'right');
  first.release();
  expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  expect(await statusOf(of)).toBe('active');
});

it('a run that ends refused puts no connection in error that was mended before', async () => {
  serve('late');
  const of = await connection('late', {});
  const { stack, upstream } = shared();
  const held = upstream.hold(upstream.journal.length + 1);
  const runId = await of.request();
  await held.reached;
  await setToken(of, 'right');
  const end = {
    ...{ runId, breaksConnection: true, provider: null },
    outcome: { status: 'failed', error: { code: 'auth_failed', message: 'refused' } } as const,
  };
  const { ended } = await endRun(stack.db, orgScope(stack.org.orgId), end);
  held.release();
  expect(ended).toBe(true);
  expect(await statusOf(of)).toBe('active');
});

it('a run whose credentials are refused, and are the latest, puts its connection in error', async () => {
  serve('refused');
  const of = await connection('refused', {});
  expect(await of.sync()).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
  expect(await statusOf(of)).toBe('error');
});

it('a run that takes up other credentials with its last attempt tries with them', async () => {
  serve('lasting');
  const of = await connection('lasting', {});
  await setToken(of, 'wrong');
  const { stack, upstream } = shared();
  const held = upstream.hold(upstream.journal.length + 1);
  const runId = await of.request();
  await held.reached;
  await stack.db.updateTable('runs').set({ attempts: 12 }).where('id', '=', runId).execute();
  await setToken(of, 'right');
  held.release();
  expect(await of.ended(runId)).toMatchObject({ status: 'succeeded' });
  expect(await statusOf(of)).toBe('active');
});
