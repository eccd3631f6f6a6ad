import { expect, it } from 'vitest';
import { sharedAnswers } from './shared-answers.ts';

/** Answers only when told to. */
function startAsking() {
  const asked: { readonly question: string; readonly answer: PromiseWithResolvers<string> }[] = [];
  const ask = sharedAnswers((question: string) => {
    const answer = Promise.withResolvers<string>();
    asked.push({ question, answer });
    return answer.promise;
  });
  return { ask, asked };
}

it('asks at once when nobody else does, and each question for itself', async () => {
  const { ask, asked } = startAsking();
  const answers = [ask('a'), ask('b')];
  expect(asked.map(({ question }) => question)).toEqual(['a', 'b']);
  for (const { question, answer } of asked) answer.resolve(`of ${question}`);
  expect(await Promise.all(answers)).toEqual(['of a', 'of b']);
});

it('gives nobody an answer that was asked for before: who comes later shares the next', async () => {
  const { ask, asked } = startAsking();
  const [first, second, third] = [ask('a'), ask('a'), ask('a')];
  expect(asked).toHaveLength(1);
  asked[0]?.answer.resolve('old');
  expect(await first).toBe('old');
  expect(asked).toHaveLength(2);
  asked[1]?.answer.resolve('new');
  expect(await Promise.all([second, third])).toEqual(['new', 'new']);
  const afterwards = ask('a');
  expect(asked).toHaveLength(3);
  asked[2]?.answer.resolve('newest');
  expect(await afterwards).toBe('newest');
});

it('gives a failure to those who shared it, and to nobody else', async () => {
  const { ask, asked } = startAsking();
  const [first, second] = [ask('a'), ask('a')];
  asked[0]?.answer.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  asked[1]?.answer.resolve('back');
  expect(await second).toBe('back');
});
