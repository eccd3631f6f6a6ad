import { expect, it } from 'vitest';
import { sharedQueries } from './shared-queries.ts';

/** Responds only when told to. Questions are of the group that their first letter says. */
function startAsking() {
  const asked: { readonly questions: string; readonly response: PromiseWithResolvers<string> }[] = [];
  const ask = sharedQueries(
    (questions: readonly string[]) => {
      const response = Promise.withResolvers<string>();
      asked.push({ questions: questions.join(), response });
      return response.promise;
    },
    (question) => question.charAt(0),
  );
  return { ask, asked };
}

it('asks at once when nobody else does, and each group for itself', async () => {
  const { ask, asked } = startAsking();
  const responses = [ask('a1'), ask('b1')];
  expect(asked.map(({ questions }) => questions)).toEqual(['a1', 'b1']);
  for (const { questions, response } of asked) response.resolve(`of ${questions}`);
  expect(await Promise.all(responses)).toEqual(['of a1', 'of b1']);
});

it('gives no caller a response to an earlier request: later callers share the next request', async () => {
  const { ask, asked } = startAsking();
  const [first, second, third] = [ask('a1'), ask('a1'), ask('a2')];
  expect(asked).toHaveLength(1);
  asked[0]?.response.resolve('old');
  expect(await first).toBe('old');
  expect(asked.map(({ questions }) => questions)).toEqual(['a1', 'a1,a2']);
  asked[1]?.response.resolve('new');
  expect(await Promise.all([second, third])).toEqual(['new', 'new']);
  const afterwards = ask('a3');
  expect(asked).toHaveLength(3);
  asked[2]?.response.resolve('newest');
  expect(await afterwards).toBe('newest');
});

it('gives a failure to those who shared it, and to nobody else', async () => {
  const { ask, asked } = startAsking();
  const [first, second] = [ask('a1'), ask('a2')];
  asked[0]?.response.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  asked[1]?.response.resolve('back');
  expect(await second).toBe('back');
});
