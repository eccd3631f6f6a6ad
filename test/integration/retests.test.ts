import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/service/eventually.ts';
import type { Connected } from '../support/sync/connected.ts';
import { useConnections } from '../support/sync/use-connections.ts';
import { recordedEvents } from '../support/webhooks/events.ts';

const { api, connection, shared, asked } = useConnections();

let accepted = '';
let serves: 'all' | 'nobody' = 'all';
beforeEach(() => {
  [accepted, serves] = ['Bearer good-token', 'all'];
});

const call = async (method: string, path: string, body?: object) => {
  const reply = await shared().stack.org.call(method, path, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(400);
  return reply.body;
};
const rowOf = ({ id }: Connected) => call('GET', `/connections/${id}`);
const active = (of: Connected) =>
  eventually('the connection is active', async () => (await rowOf(of)).status === 'active');
const minutesTo = (iso: string) => Math.round((Date.parse(iso) - Date.now()) / 60_000);

/** Lets the time of the next test come. */
const due = ({ id }: Connected) =>
  shared().stack.db.updateTable('connections').set({ testAt: new Date().toISOString() }).where('id', '=', id).execute();

const tested = async (of: Connected) => {
  const { tests } = await stored(of);
  await due(of);
  await eventually('the connection was tested', async () => (await stored(of)).tests === tests + 1);
};
const stored = ({ id }: Connected) =>
  shared().stack.db.selectFrom('connections').select(['tests']).where('id', '=', id).executeTakeFirstOrThrow();

/** A connection that its API has refused. */
async function inError(name: string): Promise<Connected> {
  api.serve(name, (_, { headers }) =>
    serves === 'all' && headers['authorization'] === accepted ? { body: [{ id: 1 }] } : { status: 401, body: {} },
  );
  const of = await connection(name, {});
  serves = 'nobody';
  expect(await of.sync()).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
  return of;
}

/** Lets the run that follows a test end, and another one if that has succeeded. */
async function breakAgain(of: Connected): Promise<void> {
  await eventually('the run after the test has ended', async () => {
    const runs = await call('GET', `/runs?connectionId=${of.id}`);
    return runs.every(({ status }: { status: string }) => status !== 'running' && status !== 'queued');
  });
  if ((await rowOf(of)).status === 'active') await of.sync();
}

describe('a connection that may be refused for an hour', () => {
  const ended = (minutesAgo: number, { id }: Connected) =>
    shared()
      .stack.db.updateTable('runs')
      .set({ finishedAt: new Date(Date.now() - minutesAgo * 60_000).toISOString() })
      .where('connectionId', '=', id)
      .where('status', '=', 'failed')
      .execute();

  it('is in error once its runs have been refused for so long, without a success', async () => {
    api.serve('patient', (_, { headers }) =>
      serves === 'all' && headers['authorization'] === accepted ? { body: [{ id: 1 }] } : { status: 401, body: {} },
    );
    const of = await connection('patient', {});
    expect((await call('PATCH', `/connections/${of.id}`, { errorAfterMinutes: 60 })).errorAfterMinutes).toBe(60);
    const refused = async () => {
      serves = 'nobody';
      expect(await of.sync()).toMatchObject({ status: 'failed', error: { code: 'auth_failed' } });
      return (await rowOf(of)).status;
    };
    expect(await refused()).toBe('active');
    await ended(61, of);
    serves = 'all';
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
    expect(await refused()).toBe('active');
    await ended(61, of);
    expect(await refused()).toBe('error');
  });
});

describe('a connection in error', () => {
  it('says why, since when, and when it is tested again', async () => {
    const of = await inError('says');
    const { status, error } = await rowOf(of);
    expect([status, error.code, error.resourceKey]).toEqual(['error', 'auth_failed', 'says']);
    expect(error.message).toContain('401');
    expect(Date.parse(error.nextTestAt) - Date.parse(error.since)).toBe(60_000);
  });

  it('is active again when the API takes its credentials again, and what failed is synced', async () => {
    const of = await inError('heals');
    serves = 'all';
    await due(of);
    await active(of);
    expect((await rowOf(of)).error).toBeNull();
    await eventually('the resource is synced', async () => (await of.rows()).length === 1);
    const { db, org } = shared().stack;
    const events = await recordedEvents(db, { orgId: org.orgId, connectionId: of.id });
    const types = ['connection.activated', 'connection.recovered'];
    const [, again, recovered] = events.filter(({ type }) => types.includes(type));
    expect(again).toMatchObject({ type: 'connection.activated', data: { previousStatus: 'error', reason: 'test' } });
    expect(recovered).toMatchObject({ type: 'connection.recovered', data: { failedSince: expect.any(String) } });
  });

  it('is tested after 1, 5 and 15 minutes, then each hour', async () => {
    const of = await inError('waits');
    const pauses = [];
    for (let test = 0; test < 4; test += 1) {
      pauses.push(minutesTo((await rowOf(of)).error.nextTestAt));
      await tested(of);
    }
    expect(pauses).toEqual([1, 5, 15, 60]);
    expect(minutesTo((await rowOf(of)).error.nextTestAt)).toBe(60);
  });

  it('is tested less and less often where its errors follow each other', async () => {
    const of = await inError('flaps');
    await tested(of);
    await eventually('the API has refused the test', async () => asked('flaps').length === 2);
    serves = 'all';
    await due(of);
    await active(of);
    serves = 'nobody';
    await breakAgain(of);
    expect(minutesTo((await rowOf(of)).error.nextTestAt)).toBe(15);
  });

  it('is left to a person where tests do not show what is wrong with it', async () => {
    const of = await inError('misleads');
    const { db } = shared().stack;
    serves = 'all';
    await due(of);
    await active(of);
    serves = 'nobody';
    await db.updateTable('connections').set({ tests: 8 }).where('id', '=', of.id).execute();
    await breakAgain(of);
    expect((await rowOf(of)).error.nextTestAt).toBeNull();
  });

  it('is tested by another resource when the one that failed is gone', async () => {
    const of = await inError('renamed');
    const { error } = await rowOf(of);
    serves = 'all';
    await shared()
      .stack.db.updateTable('connections')
      .set({ error: JSON.stringify({ ...error, resourceKey: 'gone' }) })
      .where('id', '=', of.id)
      .execute();
    await due(of);
    await active(of);
    expect(await of.rows()).toEqual([]);
  });

  it('is not active by a test of values that it no longer has', async () => {
    const of = await inError('stale');
    serves = 'all';
    const { upstream } = shared();
    const held = upstream.hold(upstream.journal.length + 1);
    await due(of);
    await held.reached;
    await call('PATCH', `/connections/${of.id}`, { secrets: { token: 'wrong' } });
    held.release();
    await eventually('the new values were tested', async () => (await stored(of)).tests === 1);
    await eventually('the new values were refused', async () => asked('stale').length === 3);
    expect((await rowOf(of)).status).toBe('error');
  });

  it('is tested at once when its secrets change', async () => {
    const of = await inError('changed');
    [serves, accepted] = ['all', 'Bearer newer'];
    await call('PATCH', `/connections/${of.id}`, { secrets: { token: 'newer' } });
    await active(of);
    expect(await of.sync()).toMatchObject({ status: 'succeeded' });
  });

  it('stays paused if it is paused', async () => {
    const of = await inError('pauses');
    await call('POST', `/connections/${of.id}/pause`);
    expect(await rowOf(of)).toMatchObject({ status: 'paused', error: null });
    const before = asked('pauses').length;
    serves = 'all';
    await due(of);
    // Of two, the other one is tested later, or at the same time.
    const other = await inError('pauses_other');
    await tested(other);
    expect([(await rowOf(of)).status, asked('pauses').length]).toEqual(['paused', before]);
  });
});
