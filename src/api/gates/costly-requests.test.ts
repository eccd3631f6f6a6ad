import { expect, it } from 'vitest';
import { type CostlyOrder, createCostlyRequests } from './costly-requests.ts';

/** Requests that end when they are told to, and the names of those that have begun. */
function createRequests() {
  const costly = createCostlyRequests();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const begins = new Map<string, PromiseWithResolvers<void>>();
  return {
    begun,
    /** Resolves when the request has begun. */
    hasBegun: async (name: string): Promise<void> => await begins.get(name)?.promise,
    send(orgId: string, order: CostlyOrder, name: string): Promise<void> {
      const [begin, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      begins.set(name, begin);
      ends.set(name, end);
      return costly.run(orgId, order, () => {
        begun.push(name);
        begin.resolve();
        return end.promise;
      });
    },
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error('failed')),
  };
}

it('begins requests that run one by one after the one before has ended, and others meanwhile', async () => {
  const { send, begun, hasBegun, end } = createRequests();
  const [first, second] = [send('a', 'one_by_one', 'a1'), send('a', 'one_by_one', 'a2')];
  const [beside, other] = [send('a', 'side_by_side', 'a3'), send('b', 'one_by_one', 'b1')];
  await Promise.all([hasBegun('a1'), hasBegun('a3'), hasBegun('b1')]);
  expect(begun).not.toContain('a2');
  end('a1');
  await hasBegun('a2');
  for (const name of ['a2', 'a3', 'b1']) end(name);
  await Promise.all([first, second, beside, other]);
  expect(begun.at(-1)).toBe('a2');
});

it('begins the next one also when the one before has failed', async () => {
  const { send, hasBegun, end, fail } = createRequests();
  const [first, second] = [send('a', 'one_by_one', 'a1'), send('a', 'one_by_one', 'a2')];
  await hasBegun('a1');
  fail('a1');
  await expect(first).rejects.toThrow('failed');
  await hasBegun('a2');
  end('a2');
  await second;
});

it.each(['side_by_side', 'one_by_one'] as const)('refuses the 21st request of an org, %s', async (order) => {
  const { send, end } = createRequests();
  const names = Array.from({ length: 20 }, (_, index) => `a${index}`);
  const sent = names.map((name) => send('a', order, name));
  await expect(send('a', order, 'one more')).rejects.toMatchObject({ status: 429 });
  for (const name of names) end(name);
  await Promise.all(sent);
  const again = send('a', order, 'later');
  end('later');
  await again;
});
