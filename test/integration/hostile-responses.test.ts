import { describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { caseFigure } from '../support/security/figure.ts';
import type { TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const scripted = createScriptedApi();
const shared = useStack({ reply: scripted.reply });
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
    caseFigure('slowedByResponses', meanwhileMs > 10 * Math.max(usualMs, 500));
    expect(meanwhileMs).toBeLessThan(10 * Math.max(usualMs, 500));
  });
});

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
