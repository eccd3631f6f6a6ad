import { expect, it } from 'vitest';
import { syncRunId } from '../../workflows/contract.ts';
import { eventually } from '../support/service/eventually.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { connect } from '../support/sync/connected.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useSharedService({ reply: api.reply });

type Json = Readonly<Record<string, unknown>>;

/** A session: the login gives `sid-{n}`, counted by what `session` holds, and the API takes the newest alone. */
async function world(name: string, login: Json) {
  const session = { no: 1, lasts: 3600 };
  let first = true;
  api.serve(`${name}_login`, (_query, { headers }) => {
    const etag = `"${session.no}"`;
    if (headers['if-none-match'] === etag) return { status: 304 };
    return { headers: { etag }, body: { sid: `sid-${session.no}`, lasts: session.lasts } };
  });
  api.serve(name, (_query, { headers }) => {
    if (headers['authorization'] !== `Bearer sid-${session.no}`) return { status: 401 };
    const body = first ? [{ id: 1 }] : [{ id: 1 }, { id: 2 }];
    first = false;
    return { body };
  });
  const { stack, upstream } = shared();
  const connected = await connect(stack, {
    upstream,
    name,
    resource: {},
    auth: {
      kind: 'session',
      login: { path: `/${name}_login`, ...login },
      tokenFrom: 'body.sid',
      expiresFrom: 'body.lasts',
    },
  });
  const logins = () => upstream.journal.filter(({ url }) => url === `/${name}_login`).map(({ status }) => status);
  return { connected, session, logins };
}

it('a login waits for its own bucket alone, on a timer of the run', async () => {
  const limits = { rateLimit: { requests: 1, perSeconds: 10_000 } };
  const { connected, session, logins } = await world('paced', limits);
  expect(await connected.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  session.no = 2;
  const runId = await connected.request();
  const { stack } = shared();
  const workflowId = syncRunId({ connectionId: connected.id, resourceKey: 'paced', runId });
  await eventually('the run sleeps', async () => {
    const { events } = await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory();
    return events?.some(
      ({ timerStartedEventAttributes: started }) => Number(started?.startToFireTimeout?.seconds) > 5000,
    );
  });
  expect(logins()).toEqual([200]);
  const buckets = stack.db
    .selectFrom('buckets')
    .select('name')
    .where('connectionId', '=', connected.id)
    .orderBy('name');
  expect(await buckets.execute()).toEqual([{ name: 'GET /paced_login' }, { name: 'http' }]);

  await stack.db.deleteFrom('buckets').where('connectionId', '=', connected.id).execute();
  expect((await stack.org.call('POST', `/runs/${runId}/cancel`)).status).toBeLessThan(300);
  await connected.ended(runId);
  expect(await connected.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  expect(logins()).toEqual([200, 200]);
});

it('a conditional login with the response 304 keeps its session, and a refused token is requested again', async () => {
  const { connected, session, logins } = await world('kept', { cache: { mode: 'conditional' } });
  session.lasts = 1;
  await connected.sync();
  const until = Date.now() + session.lasts * 1000;
  await eventually('the session is over', async () => Date.now() > until);
  expect(await connected.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
  const [first, second] = logins();
  expect([first, second]).toEqual([200, 304]);
  session.no = 2;
  expect((await connected.sync()).status).toBe('succeeded');
  expect(logins().filter((status) => status === 200)).toHaveLength(2);
});
