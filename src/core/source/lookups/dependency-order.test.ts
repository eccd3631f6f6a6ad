import { expect, it } from 'vitest';
import { inDependencyOrder } from './dependency-order.ts';

const step = (assignTo: string, ...dependsOn: readonly string[]) => ({ assignTo, dependsOn });

it('begins a step only when those it depends on are done, whatever the order they are written in', async () => {
  const done: string[] = [];
  const steps = [step('c', 'b', 'a'), step('b', 'a'), step('a', 'a table, no step')];
  await inDependencyOrder(steps, async ({ assignTo, dependsOn }) => {
    expect(dependsOn.filter((name) => name.length === 1 && !done.includes(name))).toEqual([]);
    done.push(assignTo);
  });
  expect(done).toEqual(['a', 'b', 'c']);
});

it('does independent steps at the same time', async () => {
  const begun = new Map(['a', 'b'].map((name) => [name, Promise.withResolvers<void>()]));
  const met: string[] = [];
  await inDependencyOrder([step('a'), step('b')], async ({ assignTo }) => {
    begun.get(assignTo)?.resolve();
    await Promise.all([...begun.values()].map(({ promise }) => promise));
    met.push(assignTo);
  });
  expect(met.toSorted()).toEqual(['a', 'b']);
});

it('starts no step that depends on a failed one, and throws the failure when no step is running', async () => {
  const slow = Promise.withResolvers<void>();
  const done: string[] = [];
  const all = inDependencyOrder([step('bad'), step('after', 'bad'), step('slow')], async ({ assignTo }) => {
    if (assignTo === 'bad') throw new Error('refused');
    if (assignTo === 'slow') await slow.promise;
    done.push(assignTo);
  });
  slow.resolve();
  await expect(all).rejects.toThrow('refused');
  expect(done).toEqual(['slow']);
});
