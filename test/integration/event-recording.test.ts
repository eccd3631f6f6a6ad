import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRunActivities } from '../../activities/run-lifecycle.ts';
import { createScheduleActivities } from '../../activities/schedules.ts';
import { beginRun } from '../../db/queries/runs/lanes/begin-run.ts';
import { endRun } from '../../db/queries/runs/lanes/end-run.ts';
import { insertRun } from '../../db/queries/runs/runs.ts';
import { type OrgScope, orgScope } from '../../db/scope.ts';
import { activateWithin, recordActivation } from '../../src/control/connections/activation.ts';
import { newId } from '../../src/core/ids.ts';
import { ageSchedules } from '../support/service/aged-rows.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { newRun } from '../support/service/receipts.ts';
import {
  connectionBody,
  createActiveConnection,
  createConnection,
  publishSpec,
  requestRuns,
  specDocument,
} from '../support/upstream/api-fixtures.ts';
import { recordedEvents, typesOf, withoutGaps } from '../support/webhooks/events.ts';

let api: TestApi;
let org: TestOrg;
let scope: OrgScope;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
  scope = orgScope(org.orgId);
  await publishSpec(org);
});
afterAll(() => api[Symbol.asyncDispose]());

const ofConnection = (connectionId: string) => recordedEvents(api.deps.db, { orgId: org.orgId, connectionId });

/** The types of what happened to a connection after it became active. */
const typesAfterActivation = async (connectionId: string) => typesOf(await ofConnection(connectionId)).slice(2);

describe('events and the transaction that makes them true', () => {
  it('are both there or both not, and what is taken back leaves no gap', async () => {
    const connectionId = await createConnection(org);
    const activate = (fails: boolean) =>
      api.deps.db.transaction().execute(async (tx) => {
        await recordActivation(tx, scope, { ...(await activateWithin(tx, scope, connectionId)), reason: 'api' });
        if (fails) throw new Error('taken back');
      });
    await expect(activate(true)).rejects.toThrow('taken back');
    expect(typesOf(await ofConnection(connectionId))).toEqual(['connection.created']);
    await activate(false);
    const events = await ofConnection(connectionId);
    expect(events.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['connection.created', 1],
      ['connection.activated', 2],
    ]);
  });

  it('are none of what was refused', async () => {
    const capped = await api.newOrg({ activeConnectionsMax: 0 });
    await publishSpec(capped);
    const connectionId = await createConnection(capped);
    expect((await capped.call('POST', `/connections/${connectionId}/activate`)).status).toBe(402);
    const events = await recordedEvents(api.deps.db, { orgId: capped.orgId, connectionId });
    expect(typesOf(events)).toEqual(['connection.created']);
  });

  it('count without gaps, whoever records at once', async () => {
    const connectionId = await createActiveConnection(org);
    const path = `/connections/${connectionId}/schedules`;
    const body = { resourceKey: 'items', cron: '0 3 * * *' };
    await Promise.all(Array.from({ length: 12 }, () => org.call('POST', path, { body })));
    const events = await ofConnection(connectionId);
    expect(events).toHaveLength(14);
    expect(events.map(({ sequence }) => sequence)).toEqual(withoutGaps(events));
  });
});

describe('the end of a run', () => {
  const failed = {
    outcome: { status: 'failed', error: { code: 'auth_failed', message: 'refused' } },
    breaksConnection: true,
  } as const;

  it('is recorded as one event, even when it is written several times', async () => {
    const connectionId = await createActiveConnection(org);
    const [runId = ''] = await requestRuns({ db: api.deps.db, org }, connectionId, 1);
    await beginRun(api.deps.db, scope, runId);
    await beginRun(api.deps.db, scope, runId);
    await Promise.all([1, 2].map(() => endRun(api.deps.db, scope, { runId, ...failed })));
    await endRun(api.deps.db, scope, { runId, ...failed });
    expect(await typesAfterActivation(connectionId)).toEqual(['run.failed', 'connection.error']);
  });

  it('is recorded as an event for canceled runs that no workflow had taken', async () => {
    const connectionId = await createActiveConnection(org);
    const [first = ''] = await requestRuns({ db: api.deps.db, org }, connectionId, 1);
    await org.call('POST', `/runs/${first}/cancel`);
    await requestRuns({ db: api.deps.db, org }, connectionId, 2);
    await org.call('POST', `/connections/${connectionId}/pause`);
    const events = (await ofConnection(connectionId)).slice(2);
    expect(events.map(({ type, data }) => [type, data.reason])).toEqual([
      ['run.canceled', 'requested'],
      ['run.canceled', 'connection_not_active'],
      ['run.canceled', 'connection_not_active'],
      ['connection.paused', 'api'],
    ]);
  });

  it('is recorded as an event for a run that does not begin because its connection is no longer active', async () => {
    const connectionId = await createActiveConnection(org);
    const { id } = await insertRun(api.deps.db, scope, newRun(connectionId));
    await api.deps.db.updateTable('connections').set({ status: 'error' }).where('id', '=', connectionId).execute();
    for (const _repeat of [1, 2]) expect((await beginRun(api.deps.db, scope, id)).turn).toBe('canceled');
    const [event, ...more] = (await ofConnection(connectionId)).slice(2);
    expect(event).toMatchObject({ type: 'run.canceled', runId: id, data: { reason: 'connection_not_active' } });
    expect(more).toEqual([]);
  });

  it('is recorded as an event for a run of a deleted connection, together with the end of its schedules', async () => {
    const connectionId = await createActiveConnection(org);
    const body = { resourceKey: 'items', cron: '0 3 * * *' };
    await org.call('POST', `/connections/${connectionId}/schedules`, { body });
    await requestRuns({ db: api.deps.db, org }, connectionId, 1);
    await org.call('DELETE', `/connections/${connectionId}`);
    expect(await typesAfterActivation(connectionId)).toEqual(['schedule.created', 'run.canceled', 'schedule.deleted']);
  });

  it('asks for a new authorization where the customer gave one', async () => {
    const auth = {
      kind: 'oauth2_authorization_code',
      authorizeUrl: 'https://id.acme.example/authorize',
      tokenUrl: 'https://id.acme.example/token',
      clientId: 'ours',
      clientSecret: '{{ secrets.apiKey }}',
    };
    await org.call('POST', '/specs', { body: { ...specDocument({ key: 'granted' }), auth } });
    await org.call('POST', '/specs/granted/versions/1.0.0/publish');
    const secrets = { apiKey: 'planted-secret' };
    const { body } = await org.call('POST', '/connections', { body: { ...connectionBody(org, 'granted'), secrets } });
    await org.call('POST', `/connections/${body.id}/activate`);
    const [runId = ''] = await requestRuns({ db: api.deps.db, org }, body.id, 1);
    const input = { orgId: org.orgId, connectionId: body.id, resourceKey: 'items', runId };
    await createRunActivities(api.deps).endRun(input, failed.outcome);
    const events = (await ofConnection(body.id)).slice(2);
    expect(typesOf(events)).toEqual(['run.failed', 'connection.error', 'connection.reauth_required']);
    expect(events.at(-1)?.data).toMatchObject({ provider: 'Acme', error: { code: 'auth_failed' } });
    expect(events.map(({ text }) => text).join()).not.toContain('planted-secret');
  });
});

describe('a firing that creates no run', () => {
  it('is recorded as one event with the reason', async () => {
    const connectionId = await createActiveConnection(org);
    const { body: schedule } = await org.call('POST', `/connections/${connectionId}/schedules`, {
      body: { resourceKey: 'items', cron: '* * * * *' },
    });
    await ageSchedules(api, connectionId, '2025-12-31');
    const { enqueueScheduledRun } = createScheduleActivities(api.deps);
    const fire = (minute: number) =>
      enqueueScheduledRun({ orgId: org.orgId, scheduleId: schedule.id }, `2026-01-01T00:0${minute}:00.000Z`);
    await fire(1);
    for (const _repeat of [1, 2]) await fire(2);
    await org.call('POST', `/connections/${connectionId}/pause`);
    await fire(3);
    const skipped = (await ofConnection(connectionId)).filter(({ type }) => type === 'schedule.skipped');
    expect(skipped.map(({ data }) => [data.scheduledFor, data.reason, data.schedule])).toEqual([
      ['2026-01-01T00:02:00.000Z', 'overlap', schedule],
      ['2026-01-01T00:03:00.000Z', 'connection_not_active', schedule],
    ]);
  });
});

describe('quarantined records that are tried again', () => {
  it('are recorded as one event for each API call, not for each record', async () => {
    const connectionId = await createActiveConnection(org);
    const [runId = ''] = await requestRuns({ db: api.deps.db, org }, connectionId, 1);
    const rows = [1, 2, 3].map((number) => ({
      id: newId('quar'),
      orgId: org.orgId,
      connectionId,
      resourceKey: 'items',
      externalId: String(number),
      rawJson: '"planted-record"',
      validationErrors: '[]',
      runId,
    }));
    await api.deps.db.insertInto('quarantine').values(rows).execute();
    await org.call('POST', `/quarantine/${rows[0]?.id}/requeue`);
    for (const requeued of [2, 0]) {
      const { body } = await org.call('POST', '/quarantine/requeue', { body: { connectionId } });
      expect(body).toEqual({ requeued });
    }
    const events = (await ofConnection(connectionId)).slice(2);
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      [
        'records.requeued',
        { quarantineId: rows[0]?.id, connectionId, resourceKey: 'items', externalId: '1', count: 1 },
      ],
      ['records.requeued', { quarantineId: null, connectionId, resourceKey: null, externalId: null, count: 2 }],
    ]);
  });
});
