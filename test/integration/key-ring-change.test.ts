import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { formatKeyRing } from '../../src/config/key-ring.ts';
import { createPayloadCodec, payloadKeyId } from '../../src/core/crypto/payload-codec.ts';
import { createSecretBox, type RingKey } from '../../src/core/crypto/secret-box.ts';
import { syncRunId, webhookEndpointId } from '../../workflows/contract.ts';
import { figure } from '../support/security/figure.ts';
import { openPlanted, plantedTexts, plantSealedValues } from '../support/security/sealed-values.ts';
import { runAdmin } from '../support/service/admin.ts';
import { testDatabaseUrl } from '../support/service/database-server.ts';
import { eventually } from '../support/service/eventually.ts';
import { changePayloads, payloadsIn } from '../support/service/payloads.ts';
import { insertTestConnection } from '../support/service/rows.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createSync, type Sync } from '../support/sync/sync.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const collections = ['readable', 'watched', 'refused', 'rotated'];
const shared = useStack({
  collections: Object.fromEntries(collections.map((name) => [name, generateRecords(1000)])),
});

const k2: RingKey & { readonly key: Uint8Array } = { id: 'k2', key: new Uint8Array(randomBytes(32)) };
const settingsOf = (...ring: (typeof k2)[]) => ({ SECRETS_KEYS: formatKeyRing(ring) });

const workflowOf = ({ connectionId }: Sync, resourceKey: string, runId: string) =>
  shared().stack.temporal.client.workflow.getHandle(syncRunId({ connectionId, resourceKey, runId }));

const textOf = (data: Uint8Array | null | undefined): string => Buffer.from(data ?? []).toString();

describe('what Temporal stores of a run', () => {
  it('is encrypted, but for what operators are to read, and decrypts with the key ring', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'readable' });
    const runId = await sync.request();
    await sync.ended(runId);
    const handle = workflowOf(sync, 'readable', runId);
    await handle.result();
    const history = await handle.fetchHistory();
    const stored = payloadsIn(history);
    const encrypted = stored.filter(({ payload }) => payloadKeyId(payload) === 'k1');
    expect(encrypted.map(({ path }) => path.replace(/\.\d+/g, ''))).toEqual(
      expect.arrayContaining([
        'events.workflowExecutionStartedEventAttributes.input.payloads',
        'events.activityTaskScheduledEventAttributes.input.payloads',
        'events.activityTaskCompletedEventAttributes.result.payloads',
        'events.workflowExecutionCompletedEventAttributes.result.payloads',
      ]),
    );
    const readable = stored.filter(({ payload }) => payloadKeyId(payload) === null);
    for (const { path, payload } of readable) {
      if (!path.includes('userMetadata')) expect(textOf(payload.data)).toMatch(/^"[a-z]+"$/);
    }
    await changePayloads(history, createPayloadCodec(stack.keyRing).decode);
    const { orgId } = stack.org;
    const input = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
    const { connectionId } = sync;
    expect(JSON.parse(textOf(input?.data))).toEqual({ orgId, connectionId, resourceKey: 'readable', runId, steps: 2 });
  });

  it('lets an operator without the keys read summaries, details and what it is doing', async () => {
    const { stack, upstream } = shared();
    const { client } = stack.temporal;
    await using sync = await createSync(stack, { upstream, collection: 'watched' });
    const runId = await sync.requestPaused();
    const workflowId = syncRunId({ ...sync, resourceKey: 'watched', runId });
    const stranger = new Client({ connection: client.connection }).workflow.getHandle(workflowId);
    const described = await stranger.describe();
    expect(await described.staticSummary()).toBe(`sync watched of ${sync.connectionId} (manual)`);
    expect(await described.staticDetails()).toContain(runId);
    expect(await stranger.query('__temporal_workflow_metadata')).toMatchObject({ definition: { type: 'syncRun' } });
    await expect(stranger.query('progress')).rejects.toThrow(/encoding/i);
    upstream.resume();
    expect(await sync.ended(runId)).toMatchObject({ status: 'succeeded' });
  });

  it('holds no words of a failure, which the run has all the same', async () => {
    const { stack, upstream } = shared();
    await using sync = await createSync(stack, { upstream, collection: 'refused' });
    upstream.failAt(upstream.journal.length + 1, { kind: 'status', status: 400 });
    const runId = await sync.request();
    const { status, error } = await sync.ended(runId);
    expect({ status, message: error?.message }).toEqual({ status: 'failed', message: expect.stringContaining('400') });
    const handle = workflowOf(sync, 'refused', runId);
    await expect(handle.result()).rejects.toThrow('Workflow execution failed');
    const history = await handle.fetchHistory();
    const failures = () => history.events?.map((event) => event.activityTaskFailedEventAttributes?.failure) ?? [];
    const [failure] = failures().filter((found) => found);
    expect(failure?.message).toBe('Encoded failure');
    expect(textOf(failure?.encodedAttributes?.data)).not.toContain('400');
    await changePayloads(history, createPayloadCodec(stack.keyRing).decode);
    expect(JSON.parse(textOf(failure?.encodedAttributes?.data)).message).toBe(error?.message);
  });
});

describe('a new key', () => {
  it('takes over while a run goes on, and afterwards the old one is not needed any more', async () => {
    const { stack, upstream } = shared();
    const [both, next] = [settingsOf(k2, ...stack.keyRing), settingsOf(k2)];
    const admin = async (...args: readonly string[]) => {
      const { exitCode, stdout } = await runAdmin({ ...stack.env, ...both }, ...args, '--json');
      return { exitCode, ...JSON.parse(stdout) };
    };
    const useOf = async (id: string) =>
      (await admin('keys', 'status')).keys.find((key: { readonly id: string }) => key.id === id);

    await using sync = await createSync(stack, { upstream, collection: 'rotated' });
    const { connectionId } = sync;
    const planted = await plantSealedValues(
      stack.db,
      createSecretBox(stack.keyRing),
      await insertTestConnection(stack.db),
    );
    const schedule = { resourceKey: 'rotated', cron: '0 0 1 1 *' };
    await stack.org.call('POST', `/connections/${connectionId}/schedules`, { body: schedule });
    // Its events are refused, so its workflow stays open.
    const { body: endpoint } = await stack.org.call('POST', '/webhook-endpoints', {
      body: { url: `http://${testDatabaseUrl().host}/` },
    });
    await stack.org.call('POST', `/webhook-endpoints/${endpoint.id}/test`);
    const runId = await sync.requestPaused();
    const before = stack.worker();
    await stack.startWorker(both);
    await before.kill('SIGTERM');
    await stack.restartApi(both);

    const fifth = upstream.hold(upstream.journal.length + 5);
    upstream.resume();
    await fifth.reached;
    const ofRun = { workflowId: syncRunId({ connectionId, resourceKey: 'rotated', runId }) };
    const ofEndpoint = { workflowId: webhookEndpointId({ orgId: stack.org.orgId, endpointId: endpoint.id }) };
    const used = await eventually('the old key names the workflows that need it', async () => {
      const use = await useOf('k1');
      return use.openWorkflows.length === 2 && use;
    });
    expect(used).toMatchObject({ current: false, schedules: 1, removable: false });
    expect(used.openWorkflows).toEqual(
      expect.arrayContaining([
        { ...ofRun, freeWhen: expect.stringContaining('its run ends') },
        { ...ofEndpoint, freeWhen: '`keys rotate` lets it begin anew' },
      ]),
    );
    expect(await admin('keys', 'rotate')).toMatchObject({ exitCode: 0, current: 'k2', left: 0, schedules: 1 });
    const during = await eventually('the workflow of the endpoint goes on under the new key', async () => {
      const use = await useOf('k1');
      return use.openWorkflows.length === 1 && use;
    });
    expect(during).toMatchObject({ sealed: {}, workflows: 1, openWorkflows: [ofRun], schedules: 0, removable: false });

    // Removed too early, the old key ends the process, and the run waits until it is back.
    await stack.killWorker('SIGKILL');
    await expect(stack.startWorker(next)).rejects.toThrow(/SECRETS_KEYS cannot decrypt what is stored: k1 is missing/);
    await stack.startWorker(both);
    fifth.release();
    expect(await sync.ended(runId, 120_000)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1000 } });
    // Each question is a process.
    await eventually('the old key may be removed', async () => (await useOf('k1')).removable, {
      timeoutMs: 60_000,
      everyMs: 1000,
    });

    await stack.killWorker('SIGTERM');
    await stack.startWorker(next);
    await stack.restartApi(next);
    expect(await sync.ended(await sync.request())).toMatchObject({ status: 'succeeded' });
    expect(await openPlanted(stack.db, createSecretBox([k2]), planted)).toEqual(plantedTexts(planted));
    const runs = (await stack.org.call('GET', `/runs?connectionId=${connectionId}`)).body;
    const statuses: readonly string[] = runs.map(({ status }: { readonly status: string }) => status);
    figure('keyRotation', { count: statuses.filter((status) => status !== 'succeeded').length, of: statuses.length });
    expect(statuses).toEqual(['succeeded', 'succeeded']);
  }, 300_000);

  it('of the same id that is another one ends every process that is started with it', async () => {
    const { stack } = shared();
    const wrong = settingsOf({ id: 'k2', key: new Uint8Array(randomBytes(32)) });
    await expect(stack.startWorker(wrong)).rejects.toThrow(/SECRETS_KEYS cannot decrypt what is stored/);
    const api = await stack.restartApi(wrong);
    await eventually('the API has ended', async () => api.exitCode() !== null);
    expect(api.exitCode()).toBe(1);
    expect(api.tail()).toContain('SECRETS_KEYS cannot decrypt what is stored');
  });
});
