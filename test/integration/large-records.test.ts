import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openAuditedDestination } from '../support/destinations/audit.ts';
import { figure } from '../support/security/figure.ts';
import { eventually } from '../support/service/eventually.ts';
import { forgetPeak, peakMemory } from '../support/service/process-memory.ts';
import { useStack } from '../support/service/use-stack.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const scripted = createScriptedApi();
const shared = useStack({ reply: scripted.reply });
const large = 'x'.repeat(3_000_000);

describe('a record that is too large', () => {
  it('costs itself: its beginning is kept with its size as the reason, and the others are delivered', async () => {
    const { stack } = shared();
    const { call } = stack.org;
    scripted.serve('records', () => ({
      body: [
        { id: '1', text: 'a' },
        { id: '2', text: large },
        { id: '3', text: 'c' },
      ],
    }));
    const { connection, destination } = await connect();
    const run = await sync(connection);
    expect(run).toMatchObject({ status: 'partial', statsJson: { recordsIn: 3, recordsOut: 2 } });
    expect(await destination.query('select id from records order by id')).toEqual([{ id: '1' }, { id: '3' }]);
    const { body: rows } = await call('GET', `/quarantine?connectionId=${connection}`);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      externalId: '2',
      rawJson: { truncated: true, bytes: 3_000_020 },
      validationErrors: [{ message: expect.stringContaining('3000020 bytes'), keyword: 'too_large' }],
    });
    expect(JSON.stringify(rows[0]).length).toBeLessThan(10_000);

    // What is kept of it is no record to try again.
    expect((await call('POST', `/quarantine/${rows[0].id}/requeue`)).body.resolvedAt).not.toBeNull();
    scripted.serve('records', () => ({ body: [{ id: '1', text: 'a' }] }));
    expect((await sync(connection)).status).toBe('succeeded');
    expect(await destination.query('select count(*)::int as count from records')).toEqual([{ count: 2 }]);
  });
});

describe('a list of large rows', () => {
  it('is read a few rows at a time, for several readers at once, and is complete', async () => {
    const { stack } = shared();
    const { connection } = await connect();
    const [count, bytes] = [12, 20_000_000];
    await sql`
      insert into quarantine (id, org_id, connection_id, resource_key, external_id, raw_json, validation_errors, run_id)
      select 'quar_' || n, ${stack.org.orgId}, ${connection}, 'records', n::text,
        jsonb_build_object('text', repeat('x', ${bytes}::int)), '[]', 'run_1'
      from generate_series(10, ${9 + count}::int) n`.execute(stack.db);
    const { pid } = stack.api();
    await forgetPeak(pid);
    const before = await peakMemory(pid);
    const read = async () => {
      const response = await fetch(`${stack.apiUrl}/api/v1/quarantine?connectionId=${connection}`, {
        headers: { authorization: `Bearer ${stack.org.apiKey}` },
      });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-total-count')).toBe(String(count));
      let received = 0;
      for await (const chunk of response.body ?? []) received += chunk.length;
      return received;
    };
    const lengths = await Promise.all([read(), read(), read(), read()]);
    expect(lengths.every((length) => length > count * bytes)).toBe(true);
    const used = (await peakMemory(pid)) - before;
    figure('listMemory', { count: used, of: lengths.length });
    // One list as a whole has 240 MB, several times in memory.
    expect(used).toBeLessThan(1000);
  }, 120_000);
});

async function connect() {
  const { stack, upstream } = shared();
  const { call, workspaceId } = stack.org;
  const destination = await openAuditedDestination();
  await call('POST', '/specs', { body: specDocument(upstream.url) });
  await call('POST', '/specs/large/versions/1.0.0/publish');
  const { body } = await call('POST', '/connections', {
    body: {
      workspaceId,
      specKey: 'large',
      specVersion: '1.0.0',
      displayName: 'Large',
      params: {},
      secrets: { databaseUrl: destination.url },
    },
  });
  await call('POST', `/connections/${body.id}/activate`);
  return { connection: body.id as string, destination };
}

async function sync(connection: string) {
  const { call } = shared().stack.org;
  const { body } = await call('POST', `/connections/${connection}/sync`, { body: { resource: 'records' } });
  return eventually('the run ends', async () => {
    const run = await call('GET', `/runs/${body.id}`);
    return run.body.finishedAt !== null && run.body;
  });
}

const specDocument = (baseUrl: string) => ({
  metadata: { key: 'large', name: 'Large', version: '1.0.0' },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl },
  resources: [
    {
      key: 'records',
      primaryKey: 'id',
      request: { path: '/records' },
      onInvalid: 'quarantine',
      target: { table: 'records' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', ssl: 'disable' },
});
