import { afterAll, afterEach, beforeAll } from 'vitest';
import { startUpstream, type Upstream, type UpstreamOptions } from '../upstream/upstream.ts';
import { type Stack, type StackOptions, startStack } from './stack.ts';

/** What the tests of a file share: a fake customer API and the running service. */
export interface SharedStack {
  readonly upstream: Upstream;
  readonly stack: Stack;
}

/** Starts both before the tests of a file and ends them after; a failed test prints the ends of all logs. */
export function useStack(
  upstreamOptions: UpstreamOptions,
  { allow = [], ...stackOptions }: Partial<StackOptions> = {},
): () => SharedStack {
  const started = new AsyncDisposableStack();
  let shared: SharedStack | undefined;
  beforeAll(async () => {
    const upstream = started.use(await startUpstream(upstreamOptions));
    const stack = started.use(await startStack({ ...stackOptions, allow: [upstream.hostPort, ...allow] }));
    shared = { upstream, stack };
  }, 60_000);
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`${shared?.stack.tails() ?? ''}\n`);
  });
  afterAll(() => started.disposeAsync());
  return () => {
    if (!shared) throw new Error('The stack is started before the first test');
    return shared;
  };
}
