/** Set-up of tests that deliver events through a running service to a receiver. */

import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Stack, startStack } from '../service/stack.ts';
import { unusedPort } from '../service/temporal-dev-server.ts';
import { createEndpoint, deleteEndpoints, type TestEndpoint } from './endpoints.ts';
import { type EventReceiver, startEventReceiver } from './event-receiver.ts';

/** What the tests of a file share. */
interface EventStack {
  readonly stack: Stack;
  readonly receiver: EventReceiver;
  /** A port where nobody listens; requests to it are allowed. */
  readonly closedPort: number;
}

/**
 * Starts a service whose third retry comes after 10 minutes, for all tests of a file; call it at the top. Returns what
 * makes an endpoint at a path of the receiver, until the test ends.
 */
export function useEventStack(
  onStarted: (shared: EventStack) => void,
): (name: string, settings?: object) => Promise<TestEndpoint> {
  const started = new AsyncDisposableStack();
  const { promise: shared, resolve } = Promise.withResolvers<EventStack>();
  beforeAll(async () => {
    const receiver = started.use(await startEventReceiver());
    const closedPort = await unusedPort();
    const env = { WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,600' };
    const stack = started.use(await startStack({ allow: [receiver.hostPort, `127.0.0.1:${closedPort}`], env }));
    onStarted({ stack, receiver, closedPort });
    resolve({ stack, receiver, closedPort });
  }, 60_000);
  afterEach(async ({ task }) => {
    const { stack, receiver } = await shared;
    if (task.result?.state === 'fail') process.stderr.write(`${stack.tails()}\n`);
    receiver.upstream.resume();
    await deleteEndpoints(stack);
  });
  afterAll(() => started.disposeAsync());
  return async (name, settings = {}) => {
    const { stack, receiver } = await shared;
    return await createEndpoint(stack, receiver, { name, ...settings });
  };
}
