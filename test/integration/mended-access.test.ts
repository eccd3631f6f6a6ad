import { describe, expect, it } from 'vitest';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { orgScope } from '../../db/scope.ts';
import { type Connected, connect } from '../support/sync/connected.ts';
import { useConnections } from '../support/sync/use-connections.ts';
import { recordedEvents, typesOf } from '../support/webhooks/events.ts';

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

describe('a customer who authorizes again', () => {
  /** A connection that its customer has authorized once. Its API and its provider take nothing but the latest of two grants. */
  async function authorized(name: string, refusal: 401 | 403) {
    const { stack, upstream } = shared();
    let grants = 0;
    api.serve('token', (_, { body }) => {
      const fields = new URLSearchParams(body);
      if (fields.get('grant_type') === 'authorization_code') grants += 1;
      else if (fields.get('refresh_token') !== `refresh ${grants}`) {
        return { status: 400, body: { error: 'invalid_grant' } };
      }
      return { body: { access_token: `access ${grants}`, refresh_token: `refresh ${grants}`, expires_in: 3600 } };
    });
    api.serve(name, (_, { headers }) =>
      headers['authorization'] === 'Bearer access 2' ? { body: [{ id: 1 }] } : { status: refusal, body: {} },
    );
    const auth = {
      kind: 'oauth2_authorization_code',
      authorizeUrl: `${upstream.url}/authorize`,
      tokenUrl: `${upstream.url}/token`,
      clientId: 'client',
      clientSecret: '{{ secrets.token }}',
    };
    const http = { errors: [{ when: { status: [403] }, action: 'fail', connection: 'error' }] };
    const of = await connect(stack, { upstream, name, resource: {}, auth, http });
    const authorize = async () => {
      const { searchParams } = new URL((await call('GET', `/oauth/${of.id}/authorize`)).authorizeUrl);
      const { pathname } = new URL(String(searchParams.get('redirect_uri')));
      const query = new URLSearchParams({ code: 'code', state: String(searchParams.get('state')) });
      await call('GET', `${pathname.replace('/api/v1', '')}?${query.toString()}`);
    };
    await authorize();
    return { of, authorize };
  }

  const expectHealthy = async (of: Connected, runId: string) => {
    const { stack } = shared();
    expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await statusOf(of)).toBe('active');
    const events = await recordedEvents(stack.db, { orgId: stack.org.orgId, connectionId: of.id });
    expect(typesOf(events)).not.toContain('connection.error');
  };

  it('while a run refreshes the grant of before is spared the error that it is over', async () => {
    const { of, authorize } = await authorized('refreshed', 401);
    const { upstream } = shared();
    const refresh = upstream.hold(upstream.journal.length + 2);
    const runId = await of.request();
    await refresh.reached;
    expect(upstream.journal.at(-1)?.body).toContain('refresh_token=refresh+1');
    await authorize();
    refresh.release();
    await expectHealthy(of, runId);
  });

  it('while a run asks with the grant of before is spared the error that the API refuses it', async () => {
    const { of, authorize } = await authorized('asked', 403);
    const { upstream } = shared();
    const page = upstream.hold(upstream.journal.length + 1);
    const runId = await of.request();
    await page.reached;
    await authorize();
    page.release();
    await expectHealthy(of, runId);
  });

  it('before a run ends for the grant of before is spared the error', async () => {
    const { of, authorize } = await authorized('ended', 401);
    const { stack, upstream } = shared();
    const refresh = upstream.hold(upstream.journal.length + 2);
    const runId = await of.request();
    await refresh.reached;
    await authorize();
    const error = { code: 'auth_failed', message: 'invalid_grant' } as const;
    const outcome = { status: 'failed', error } as const;
    const end = { runId, outcome, breaksConnection: true, provider: 'x' };
    expect((await endRun(stack.db, orgScope(stack.org.orgId), end)).ended).toBe(true);
    refresh.release();
    expect(await statusOf(of)).toBe('active');
    const events = await recordedEvents(stack.db, { orgId: stack.org.orgId, connectionId: of.id });
    expect(typesOf(events)).not.toContain('connection.error');
  });
});
