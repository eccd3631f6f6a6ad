import { expect, it } from 'vitest';
import { useStack } from '../support/service/use-stack.ts';
import { openAccount } from '../support/sync/account.ts';
import { createAsked } from '../support/upstream/asked.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useStack({ reply: api.reply });
const asked = createAsked(() => shared().upstream);

it('a run in progress keeps the spec and the params it began with, in every process that goes on with it', async () => {
  const pages = 12;
  api.serve('pinned', (query) => {
    const page = Number(query.get('page') ?? 1);
    return { body: { data: [{ id: page + 100 }], next: page < pages ? String(page + 1) : null } };
  });
  const resource = (version: string) => ({
    key: 'pinned',
    request: { path: '/pinned', query: { tag: '{{ params.tags[0] }}' } },
    response: { records: 'data' },
    pagination: { kind: 'cursor', next: 'body.next', inject: { in: 'query', name: 'page' } },
    transform: `{ "id": id, "shape": "${version}", "tag": $params.tags[0] }`,
  });
  const { stack, upstream } = shared();
  const params = { tags: ['old'] };
  await using of = await openAccount(stack, {
    key: 'pinned',
    baseUrl: upstream.url,
    resources: [resource('old')],
    params,
  });
  const gate = upstream.hold(upstream.journal.length + 6);
  const runId = await of.request('pinned');
  await gate.reached;
  await of.upgrade('2.0.0', [resource('new')]);
  await of.ask('PATCH', '', { params: { tags: ['new'] } });
  await stack.killWorker('SIGKILL');
  gate.release();
  await stack.startWorker();
  expect(await of.ended(runId)).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: pages } });
  expect(asked('pinned').map(({ searchParams }) => searchParams.get('tag'))).not.toContain('new');
  expect(await of.rows('pinned')).toEqual(
    Array.from({ length: pages }, (_, no) => ({ id: String(no + 101), shape: 'old', tag: 'old' })),
  );

  expect(await of.sync('pinned')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: pages } });
  expect(new Set(asked('pinned').map(({ searchParams }) => searchParams.get('tag')))).toEqual(new Set(['new']));
  const shapes = (await of.rows('pinned')).map(({ shape, tag }) => [shape, tag]);
  expect(shapes).toEqual(Array.from({ length: pages }, () => ['new', 'new']));
});
