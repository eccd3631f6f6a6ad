import { expect } from 'vitest';
import type { TestHook } from './hooks.ts';

/** The response is 401, and the log of the hook has the reason. */
export async function expectRejected(reply: Response, hook: TestHook, reason: RegExp): Promise<void> {
  expect(reply.status).toBe(401);
  expect(await reply.json()).toMatchObject({ error: { code: 'unauthorized' } });
  expect((await hook.requests())[0]).toMatchObject({
    status: 'rejected',
    reason: expect.stringMatching(reason),
    runs: [],
  });
}
