import { describe, expect, it } from 'vitest';
import type { Post, Reply } from '../support/destinations/webhook-receiver.ts';
import {
  collectionOf,
  createWebhookSync,
  hookSecret,
  useWebhookStack,
  type WebhookSync,
} from '../support/destinations/webhook-sync.ts';
import { dumpTables, searchForSecrets } from '../support/security/planted-secrets.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';
import { generateRecords } from '../support/upstream/upstream.ts';

const api = createScriptedApi();
const shared = useWebhookStack({ reply: api.reply, collections: { orders: generateRecords(1000) } });

interface Row {
  readonly id: number;
  readonly name?: string;
  readonly gone?: boolean;
}

const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ id: n, name: `n${n}` }));
const idsAt = (key: string) => {
  const rows = shared().receiver.rows(key);
  return rows.map(({ externalId }) => Number(externalId)).toSorted((a, b) => a - b);
};
const postsTo = (key: string) => shared().receiver.posts.filter(({ batch }) => batch.resourceKey === key);
const holds = ({ batch }: Post, externalId: string) => batch.records.some((record) => record.externalId === externalId);

/** A connection whose records are what `response` gives, whose receiver responds with `reply`. */
async function syncOf(
  key: string,
  {
    rows,
    reply = () => undefined,
    ...options
  }: {
    readonly rows: () => readonly Row[];
    readonly reply?: (post: Post) => Reply | undefined;
    readonly resource?: Readonly<Record<string, unknown>>;
    readonly destination?: Readonly<Record<string, unknown>>;
  },
): Promise<WebhookSync> {
  api.serve(key, () => ({ body: rows() }));
  shared().receiver.reply(reply);
  return await createWebhookSync(shared(), { key, resource: {}, ...options });
}

describe('records at a webhook', () => {
  it('arrive once, signed, in requests of the size asked for, and are in the call log without their values', async () => {
    const { receiver, upstream } = shared();
    receiver.reply(() => undefined);
    const sync = await createWebhookSync(shared(), {
      key: 'orders',
      resource: { ...collectionOf('orders'), transform: "{ 'id': id, 'name': name, 'at': updated_at }" },
      destination: { batchSize: 80 },
    });
    const first = await sync.sync();
    expect(first).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1000, recordsOut: 1000 } });
    expect(receiver.unverified).toEqual([]);
    const records = postsTo('orders').flatMap(({ batch }) => batch.records);
    expect(new Set(records.map(({ externalId }) => externalId)).size).toBe(1000);
    expect(records).toHaveLength(1000);
    expect(records[0]).toMatchObject({ op: 'upsert', hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    expect(Math.max(...postsTo('orders').map(({ batch }) => batch.records.length))).toBe(80);
    expect(new Set(postsTo('orders').map(({ batch }) => `${batch.runId} ${batch.specVersion}`))).toEqual(
      new Set([`${first.id} 1.0.0`]),
    );
    const calls = await sync.posts(first.id);
    expect(calls).toHaveLength(postsTo('orders').length);
    expect(JSON.stringify(calls)).not.toContain(String(records[0]?.data?.['name']));

    const posts = postsTo('orders').length;
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0, skipped: 1000 } });
    expect(postsTo('orders')).toHaveLength(posts);
    upstream.store('orders').put(...generateRecords(1).map((record) => ({ ...record, name: 'changed' })));
    expect(await sync.sync()).toMatchObject({ statsJson: { recordsOut: 1 } });
    expect(postsTo('orders').at(-1)?.batch.records).toMatchObject([{ data: { name: 'changed' } }]);
  });

  it('that are gone are deleted there', async () => {
    let rows: readonly Row[] = rowsOf(3);
    const resource = { deletes: { mode: 'flag', when: 'gone = true', effect: 'hard' } };
    const sync = await syncOf('gone', { rows: () => rows, resource });
    await sync.sync();
    rows = [
      { id: 0, name: 'n0' },
      { id: 1, gone: true },
      { id: 2, name: 'new' },
    ];
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1, deleted: 1 } });
    expect(idsAt('gone')).toEqual([0, 2]);
    expect(postsTo('gone').at(-1)?.batch.records).toEqual([{ op: 'delete', externalId: '1' }]);
  });

  it.each([
    ['by name', { body: { rejected: [{ externalId: 1, message: 'database is busy', retryable: true }] } }],
    ['alone', { status: 422 }],
  ])(
    'that are gone, and whose deletion is refused (%s), are deleted by the next run that can',
    async (how, refusal) => {
      const key = `kept-${how.replace(' ', '-')}`;
      let rows: readonly Row[] = rowsOf(3);
      let isBusy = true;
      const sync = await syncOf(key, {
        rows: () => rows,
        reply: ({ batch }) => (isBusy && batch.records.some(({ op }) => op === 'delete') ? refusal : undefined),
        resource: { deletes: { mode: 'full_scan', effect: 'hard' } },
      });
      await sync.sync();
      rows = rowsOf(3).filter(({ id }) => id !== 1);
      const refused = { status: 'partial', statsJson: { deleted: 0 }, notes: { delete_refused: 1 } };
      expect(await sync.sync()).toMatchObject(refused);
      expect(await sync.sync()).toMatchObject(refused);
      isBusy = false;
      expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { deleted: 1 } });
      expect(idsAt(key)).toEqual([0, 2]);
    },
  );

  it('all come again to another URL', async () => {
    const sync = await syncOf('moved', { rows: () => rowsOf(5) });
    await sync.sync();
    await sync.override({ destination: { url: `${shared().receiver.url}/elsewhere` } });
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 5 } });
    expect(await sync.sync()).toMatchObject({ statsJson: { recordsOut: 0 } });
  });
});

describe('records that the receiver refuses', () => {
  it('by name are quarantined as they were read, the run is partial, and a version that it takes resolves them', async () => {
    let rows = rowsOf(20);
    const sync = await syncOf('partial', {
      rows: () => rows,
      resource: { onInvalid: 'quarantine' },
      reply: (post) => ({
        body: {
          rejected: post.batch.records
            .filter(({ data }) => data?.['name'] === 'n7')
            .map(({ externalId }) => ({ externalId, code: 'bad_name', message: 'not this one' })),
        },
      }),
    });
    const run = await sync.sync();
    expect(run).toMatchObject({ status: 'partial', statsJson: { recordsIn: 20, recordsOut: 19, quarantined: 1 } });
    expect(await sync.quarantine()).toMatchObject([
      {
        externalId: '7',
        rawJson: { id: 7, name: 'n7' },
        validationErrors: [{ message: 'Refused by the receiver: bad_name: not this one' }],
        resolvedAt: null,
      },
    ]);
    rows = rows.map((row) => (row.id === 7 ? { id: 7, name: 'good' } : row));
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect((await sync.quarantine()).filter(({ resolvedAt }) => resolvedAt === null)).toEqual([]);
    expect(idsAt('partial')).toHaveLength(20);
  });

  it.each(['fail', 'skip'])(
    'by name end the run failed with onInvalid %s, and they alone come again until they are taken',
    async (onInvalid) => {
      let refuses = true;
      const key = `strict-${onInvalid}`;
      const sync = await syncOf(key, {
        rows: () => rowsOf(20),
        reply: (post) =>
          refuses && holds(post, '7') ? { body: { rejected: [{ externalId: '7', code: 'bad_name' }] } } : undefined,
        resource: { onInvalid },
      });
      const failed = await sync.sync();
      expect(failed).toMatchObject({
        status: 'failed',
        error: { code: 'record_invalid', message: expect.stringMatching(/bad_name.*set onInvalid to "quarantine"/) },
        statsJson: { recordsIn: 19, recordsOut: 19, skipped: 0, quarantined: 0 },
      });
      expect(await sync.sync()).toMatchObject({ status: 'failed', statsJson: { recordsOut: 0 } });
      refuses = false;
      expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1, skipped: 19 } });
      const sent = postsTo(key).map(({ batch }) => batch.records.map(({ externalId }) => externalId));
      expect(sent).toEqual([rowsOf(20).map(({ id }) => String(id)), ['7'], ['7']]);
      expect(await sync.quarantine()).toEqual([]);
    },
  );

  it('although they were not sent to it are counted in the log of the run and otherwise ignored', async () => {
    const rejected = ['made-up-1', '1', 'made-up-2'].map((externalId) => ({ externalId, message: 'unknown to us' }));
    const resource = { onInvalid: 'quarantine' };
    const sync = await syncOf('stray', { rows: () => rowsOf(3), reply: () => ({ body: { rejected } }), resource });
    const run = await sync.sync();
    expect(run).toMatchObject({ status: 'partial', statsJson: { recordsOut: 2 } });
    expect(await sync.quarantine()).toMatchObject([{ externalId: '1' }]);
    const worker = shared().stack.worker();
    await worker.logged('rejected records that were not sent to it');
    const line = worker
      .tail()
      .split('\n')
      .find((one) => one.includes('rejected records that were not sent to it'));
    const [post] = postsTo('stray');
    expect(JSON.parse(line ?? '')).toMatchObject({ level: 'warn', runId: run.id, partId: post?.id, rejections: 2 });
    expect(worker.tail()).not.toMatch(/made-up|unknown to us/);
  });

  it('without a name are found by halving', async () => {
    const sync = await syncOf('poison', {
      rows: () => rowsOf(300),
      reply: (post) => (holds(post, '111') ? { status: 422 } : undefined),
    });
    expect(await sync.sync()).toMatchObject({ status: 'partial', statsJson: { recordsOut: 299, quarantined: 1 } });
    expect(await sync.quarantine()).toMatchObject([{ externalId: '111' }]);
    expect(idsAt('poison')).toHaveLength(299);
  });

  it('because requests are too large come in smaller ones', async () => {
    const sync = await syncOf('large', {
      rows: () => rowsOf(300),
      reply: ({ headers }) => (Number(headers['content-length']) > 8000 ? { status: 413 } : undefined),
    });
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 300 } });
    expect(idsAt('large')).toHaveLength(300);
  });
});

describe('a receiver', () => {
  it('that asks for time gets it on a durable timer, and then the same bytes', async () => {
    const sync = await syncOf('patient', {
      rows: () => rowsOf(10),
      reply: () => (postsTo('patient').length < 3 ? { status: 429, headers: { 'retry-after': '11' } } : undefined),
    });
    const run = await sync.sync();
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 10, recordsOut: 10 } });
    expect((await sync.posts(run.id)).map(({ statusCode }) => statusCode)).toEqual([429, 429, 200]);
    expect(new Set(postsTo('patient').map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(1);
    expect(shared().upstream.journal.filter(({ url }) => url === '/patient')).toHaveLength(1);
  });

  it('that asks for more time than the run has ends it, and the next run goes on', async () => {
    let asks = true;
    const sync = await syncOf('hasty', {
      rows: () => rowsOf(10),
      reply: () => (asks ? { status: 503, headers: { 'retry-after': '600' } } : undefined),
      resource: { limits: { maxDurationSeconds: 60 } },
    });
    expect(await sync.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_unavailable' } });
    asks = false;
    expect(await sync.sync()).toMatchObject({
      status: 'succeeded',
      statsJson: { recordsIn: 10, recordsOut: 10, skipped: 0 },
    });
    expect(idsAt('hasty')).toHaveLength(10);
  });

  it('that takes in a run what the run before left: it counts there, once, whatever the API says by then', async () => {
    let isAway = true;
    let rows: readonly Row[] = [...rowsOf(4), { id: 4, gone: true }];
    const sync = await syncOf('late', {
      rows: () => rows,
      reply: (post) => {
        if (isAway) return { status: 404 };
        return holds(post, '2') ? { body: { rejected: [{ externalId: '2' }] } } : undefined;
      },
      resource: { onInvalid: 'quarantine', deletes: { mode: 'flag', when: 'gone = true', effect: 'hard' } },
    });
    const failed = await sync.sync();
    expect(failed).toMatchObject({ status: 'failed', statsJson: { recordsIn: 0, recordsOut: 0 } });
    isAway = false;
    // 0 stays, 1 was changed, 2 is refused, 3 is not listed any more, 5 is new.
    rows = [
      { id: 0, name: 'n0' },
      { id: 1, name: 'changed' },
      { id: 2, name: 'n2' },
      { id: 5, name: 'n5' },
      { id: 0, name: 'n0' },
    ];
    const next = await sync.sync();
    expect(postsTo('late').map(({ batch }) => batch.runId)).toEqual([failed.id, failed.id, next.id]);
    expect(next).toMatchObject({
      status: 'partial',
      statsJson: { recordsIn: 5, recordsOut: 5, quarantined: 1, skipped: 1, deleted: 0 },
    });
    const kept = shared().stack.db.selectFrom('quarantine').select(['externalId', 'runId']);
    expect(await kept.where('connectionId', '=', sync.connectionId).execute()).toEqual([
      { externalId: '2', runId: next.id },
    ]);
    expect(await sync.run(failed.id)).toEqual(failed);
    expect(await sync.sync()).toMatchObject({
      status: 'succeeded',
      statsJson: { recordsIn: 5, recordsOut: 0, skipped: 5 },
    });
  });

  it('that refuses in a run a record that the run before left gets it as it was read, although it repeats a secret', async () => {
    let isAway = true;
    let refuses = true;
    const sync = await syncOf('echoed', {
      rows: () => [{ id: 1, name: hookSecret }],
      reply: () => (isAway ? { status: 404 } : refuses ? { body: { rejected: [{ externalId: '1' }] } } : undefined),
      resource: { onInvalid: 'quarantine' },
    });
    expect(await sync.sync()).toMatchObject({ status: 'failed' });
    isAway = false;
    const { stack } = shared();
    // Beside the draft are the requests as they are sent.
    const drafts = JSON.stringify(await stack.db.selectFrom('outboxes').select('pendingDraft').execute());
    expect(drafts).toContain('sealed:');
    expect(await sync.sync()).toMatchObject({ status: 'partial', statsJson: { quarantined: 1 } });
    const [open] = await sync.quarantine();
    expect(open).toMatchObject({ rawJson: { id: 1, name: '[redacted]' } });
    await stack.org.call('POST', `/quarantine/${open?.id}/requeue`);
    refuses = false;
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(shared().receiver.rows('echoed')).toMatchObject([{ data: { id: 1, name: hookSecret } }]);
    expect(searchForSecrets({ drafts, tables: await dumpTables(stack) }, { hookSecret })).toEqual([]);
  });

  it('that responds with 410 sets the connection to error at once', async () => {
    const sync = await syncOf('left', { rows: () => rowsOf(2), reply: () => ({ status: 410 }) });
    expect(await sync.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_gone' } });
    expect(await sync.status()).toBe('error');
  });

  it('that is not found breaks it with the third run; what they left is sent once it is found', async () => {
    let found = false;
    const sync = await syncOf('lost', { rows: () => rowsOf(2), reply: () => (found ? undefined : { status: 404 }) });
    for (const status of ['active', 'active', 'error']) {
      expect(await sync.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_login' } });
      expect(await sync.status()).toBe(status);
    }
    found = true;
    const { stack } = shared();
    await stack.org.call('POST', `/connections/${sync.connectionId}/activate`, {});
    expect(await sync.sync()).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 2, skipped: 0 } });
    expect(idsAt('lost')).toEqual([0, 1]);
    expect(new Set(postsTo('lost').map(({ id, sha256 }) => `${id} ${sha256}`)).size).toBe(1);
  });

  it('that redirects is not followed', async () => {
    const headers = { location: `${shared().receiver.url}/elsewhere` };
    const sync = await syncOf('redirects', { rows: () => rowsOf(2), reply: () => ({ status: 307, headers }) });
    expect(await sync.sync()).toMatchObject({ status: 'failed', error: { code: 'destination_rejected' } });
    expect(postsTo('redirects')).toHaveLength(1);
  });
});
