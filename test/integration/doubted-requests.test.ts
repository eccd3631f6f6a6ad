import { expect, it } from 'vitest';
import { createWebhookSync, useWebhookStack } from '../support/destinations/webhook-sync.ts';
import { createScriptedApi } from '../support/upstream/scripted-api.ts';

const api = createScriptedApi();
const shared = useWebhookStack({ reply: api.reply, collections: {} });

it('records of a doubted part, which the receiver has, are kept back and then deleted at the API', async () => {
  let ids = [1, 2, 3];
  api.serve('doubted', () => ({ body: ids.map((id) => ({ id })) }));
  const known = new Set<string>();
  let isMended = false;
  // It stores 1 and 3, refuses 2 in a form that nobody can read, and knows a request that comes again.
  shared().receiver.reply(({ id }) => {
    if (isMended) return undefined;
    if (known.has(id)) return { status: 409, body: { duplicate: true } };
    known.add(id);
    return { body: { rejected: ['2'] } };
  });
  const sync = await createWebhookSync(shared(), {
    key: 'doubted',
    resource: { deletes: { mode: 'full_scan', effect: 'hard' } },
  });
  const at = () =>
    shared()
      .receiver.rows('doubted')
      .map(({ externalId }) => externalId);
  await sync.sync();
  isMended = true;
  ids = [2, 3];
  for (const _ of [1, 2]) await sync.sync();
  expect(at()).not.toContain('1');
});
