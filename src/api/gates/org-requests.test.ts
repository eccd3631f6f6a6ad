import { expect, it } from 'vitest';
import { createOrgRequests } from './org-requests.ts';

it('has 200 requests of an org in progress and lets 1,000 wait; one more is refused, and another org is served', async () => {
  const requests = createOrgRequests();
  const release = Promise.withResolvers<void>();
  let [begun, served] = [0, 0];
  const send = async () => {
    await requests.run('a', async () => {
      begun += 1;
      await release.promise;
    });
    served += 1;
  };
  const sent = Array.from({ length: 1200 }, send);
  await expect(send()).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  await requests.run('b', async () => undefined);
  expect(begun).toBe(200);
  release.resolve();
  await Promise.all(sent);
  await send();
  expect(served).toBe(1201);
});
