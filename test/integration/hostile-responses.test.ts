import { describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { caseFigure } from '../support/security/figure.ts';
import { slowTexts } from '../support/security/slow-texts.ts';
import type { TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import type { UpstreamResponse } from '../support/upstream/paging.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import { emit } from '../support/webhooks/endpoints.ts';

const scripted = createScriptedApi();
/** What each of the receivers at `/receiver-…` responds with. */
const receivers = new Map<string, () => UpstreamResponse>();
let received: readonly string[] = [];
const shared = useStack({
  reply(request) {
    const respond = receivers.get(request.url);
    if (!respond) return scripted.reply(request);
    received = [...received, request.url];
    return respond();
  },
});
const manyParameters = '?key='.repeat(200_000);

describe('a response made to be slow to mask', () => {
  it('costs its own run: a link of 1 MB is refused, and runs of another org beside it take their usual time', async () => {
    const { stack } = shared();
    scripted.serve('hostile', () => ({ body: { data: [{ id: '1' }], next: `/x${manyParameters}` } }));
    scripted.serve('header', () => ({
      headers: { 'x-note': `?${'?key='.repeat(3000)}` },
      body: { data: [{ id: '1' }], next: null },
    }));
    scripted.serve('usual', () => ({ body: { data: [{ id: '1' }], next: null } }));
    const attacker = await connect(stack.org);
    const victim = await connect(await stack.newOrg());
    const usualMs = await timed(() => victim('usual'));

    const attacks = Array.from({ length: 6 }, (_, index) => attacker(index % 2 === 0 ? 'hostile' : 'header'));
    const meanwhileMs = await timed(() => victim('usual'));
    const runs = await Promise.all(attacks);
    expect(runs.map(({ error }) => error?.code ?? null)).toEqual(
      runs.map((_, index) => (index % 2 === 0 ? 'source_rejected' : null)),
    );
    // It took thirty times as long when masking took the square of the text.
    caseFigure('slowedByResponses', meanwhileMs > slowMs(usualMs));
    expect(meanwhileMs).toBeLessThan(slowMs(usualMs));
  });

  it('costs its own delivery: neither deliveries nor runs of another org wait for receivers that send it', async () => {
    const { stack } = shared();
    const victimOrg = await stack.newOrg();
    const victim = await connect(victimOrg);
    scripted.serve('usual', () => ({ body: { data: [{ id: '1' }], next: null } }));
    await addReceiver(victimOrg, '/receiver-of-the-victim', () => ({ status: 204, body: '' }));
    const deliveriesToVictim = () => received.filter((url) => url === '/receiver-of-the-victim').length;
    const runAndDelivery = async () => {
      const before = deliveriesToVictim();
      await victim('usual');
      await eventually('the event of the run arrives', async () => deliveriesToVictim() > before);
    };
    await runAndDelivery();
    const usualMs = await timed(runAndDelivery);

    const texts = Object.values(slowTexts).map((make) => make(200_000));
    const hostile = Array.from({ length: 8 }, (_, index) => `/receiver-${index}`);
    let next = 0;
    for (const path of hostile) {
      await addReceiver(stack.org, path, () => {
        const text = texts[next++ % texts.length] ?? '';
        return { status: 200, headers: { 'x-note': text.slice(0, 12_000) }, body: text };
      });
    }
    const began = received.length;
    await emit(stack, 10);
    await eventually('the first of them respond', async () => received.length > began);
    const meanwhileMs = await timed(runAndDelivery);
    caseFigure('slowedByResponses', meanwhileMs > slowMs(usualMs));
    expect(meanwhileMs).toBeLessThan(slowMs(usualMs));
    await eventually(
      'all are delivered',
      async () => hostile.every((path) => received.filter((url) => url === path).length >= 10),
      { timeoutMs: 60_000 },
    );
  });
});

/** More than this is slow, where the same took `usualMs` just before, ms. */
const slowMs = (usualMs: number): number => 3 * usualMs + 1000;

/** An endpoint of the org, whose receiver responds like this. */
async function addReceiver({ call }: TestOrg, path: string, respond: () => UpstreamResponse): Promise<void> {
  receivers.set(path, respond);
  const url = `${shared().upstream.url}${path}`;
  const { status, body } = await call('POST', '/webhook-endpoints', { body: { url } });
  expect(status, JSON.stringify(body)).toBe(201);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

interface Run {
  readonly status: string;
  readonly error: { readonly code: string } | null;
}

/** A connection of the org to the scripted API; what it gives runs a resource to its end. */
async function connect({ call, workspaceId }: TestOrg): Promise<(resource: string) => Promise<Run>> {
  const { upstream } = shared();
  const destination = await openAuditedDestination();
  const ask = async (path: string, body?: unknown) => {
    const response = await call('POST', path, { body });
    expect(response.status, JSON.stringify(response.body)).toBeLessThan(400);
    return response.body;
  };
  await ask('/specs', specDocument(upstream.url));
  await ask('/specs/scripted/versions/1.0.0/publish');
  const { id } = await ask('/connections', {
    workspaceId,
    specKey: 'scripted',
    specVersion: '1.0.0',
    displayName: 'Scripted',
    params: {},
    secrets: { databaseUrl: destination.url },
  });
  await ask(`/connections/${id}/activate`);
  return async (resource) => {
    const run = await ask(`/connections/${id}/sync`, { resource });
    return eventually(`the run of ${resource} ends`, async () => {
      const { body } = await call('GET', `/runs/${run.id}`);
      return body.finishedAt !== null && body;
    });
  };
}

const specDocument = (baseUrl: string) => ({
  metadata: { key: 'scripted', name: 'Scripted', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl, rateLimit: { requests: 1000, perSeconds: 1 } },
  resources: ['hostile', 'header', 'usual'].map((key) => ({
    key,
    primaryKey: 'id',
    request: { path: `/${key}` },
    response: { records: 'data' },
    pagination: { kind: 'next_url', next: 'body.next' },
    target: { table: key },
  })),
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
