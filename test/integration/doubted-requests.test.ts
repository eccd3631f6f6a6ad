import { expect, it } from 'vitest';
import { createWebhookSync, useWebhookStack } from '../support/destinations/webhook-sync.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useWebhookStack({ reply: api.reply, collections: {} });

it.each([
  ['is known when it comes again', { status: 409, body: { duplicate: true } }],
  ['is refused when it comes again, and so is each of its records', { status: 400 }],
])('records of a doubted part, which %s, are kept back and then deleted at the API', async (_how, again) => {
  const key = `doubted_${again.status}`;
  let ids = [1, 2, 3];
  api.serve(key, () => ({ body: ids.map((id) => ({ id })) }));
  let isFirst = true;
  let isMended = false;
  // It stores 1 and 3, and refuses 2 in a form that nobody can read.
  shared().receiver.reply(() => {
    if (isMended) return undefined;
    if (!isFirst) return again;
    isFirst = false;
    return { body: { rejected: ['2'] } };
  });
  const sync = await createWebhookSync(shared(), {
    key,
    resource: { deletes: { mode: 'full_scan', effect: 'hard' } },
  });
  const at = () =>
    shared()
      .receiver.rows(key)
      .map(({ externalId }) => externalId);
  await sync.sync();
  isMended = true;
  ids = [2, 3];
  for (const _ of [1, 2]) await sync.sync();
  expect(at()).not.toContain('1');
});
