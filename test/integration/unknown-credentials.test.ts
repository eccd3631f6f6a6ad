import { expect, it } from 'vitest';
import { makeApiKey } from '../../src/core/crypto/api-key.ts';
import { makeHookToken } from '../../src/core/crypto/hook-token.ts';
import { countStatements } from '../support/console/statement-count.ts';
import { startApi } from '../support/service/api.ts';

it.each([
  [
    'API keys',
    () => new Request('http://api/api/v1/connections', { headers: { authorization: `Bearer ${makeApiKey().key}` } }),
  ],
  ['tokens of hooks', () => new Request(`http://api/api/hooks/${makeHookToken()}`, { method: 'POST', body: '{}' })],
])('that nobody has are looked up together: %s', async (_, request) => {
  await using api = await startApi();
  const counted = countStatements(api);
  const replies = await Promise.all(Array.from({ length: 300 }, async () => counted.app.request(request())));
  expect(new Set(replies.map(({ status }) => status)).size).toBe(1);
  expect(counted.take()).toBeLessThan(5);
});
