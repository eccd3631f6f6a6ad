import { afterAll, afterEach, test } from 'vitest';
import { hasCode } from '../../../src/core/error-code.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../upstream/upstream.ts';
import { type Service, startStack } from './stack.ts';
import { unusedPort } from './temporal-dev-server.ts';

/** What the tests of a file have: a fake customer API, and an org of their own at a service that other files use too. */
export interface SharedService {
  readonly upstream: Upstream;
  readonly stack: Service;
}

/** The same, for a file with more servers that the service calls. */
interface OpenService extends SharedService {
  /** A free port of 127.0.0.1 that the service may call. */
  readonly sparePort: () => number;
}

/** Files that one service serves; each has a port of its own, so that what is left of one asks nothing of the next. */
const filesMax = 60;

/** Started by the first file of the process that needs it, ended with the process. */
// oxlint-disable-next-line eslint/no-empty-pattern -- Vitest reads from the pattern what a fixture needs: nothing
const withService = test.extend('service', { scope: 'worker' }, async ({}, { onCleanup }) => {
  const ports: number[] = [];
  while (ports.length < filesMax) ports.push(await unusedPort());
  const stack = await startStack({ allow: ports.map((port) => `127.0.0.1:${port}`) });
  onCleanup(() => stack[Symbol.asyncDispose]());
  return { stack, ports };
});

/**
 * For files that neither end processes nor change what other orgs see: they take the running service of their process
 * of tests, started with default settings. List such a file in `vitest.config.ts`. A failed test prints the ends of all logs.
 */
export function useSharedService(upstreamOptions: UpstreamOptions): () => OpenService {
  const started = new AsyncDisposableStack();
  let shared: OpenService | undefined;
  withService.beforeAll(async ({ service: { stack, ports } }) => {
    const sparePort = () => {
      const port = ports.pop();
      if (port === undefined) throw new Error(`One service serves ${filesMax} files`);
      return port;
    };
    const upstream = started.use(await startOnFree(sparePort, upstreamOptions));
    const service = { ...stack, org: await stack.newOrg() };
    started.defer(() => deleteConnections(service));
    shared = { upstream, stack: service, sparePort };
  }, 60_000);
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') process.stderr.write(`${shared?.stack.tails() ?? ''}\n`);
  });
  afterAll(() => started.disposeAsync());
  return () => {
    if (!shared) throw new Error('The service is there before the first test');
    return shared;
  };
}

/** Some other process may have taken a port since it was found free: then the next one is tried. */
async function startOnFree(sparePort: () => number, options: UpstreamOptions): Promise<Upstream> {
  for (;;) {
    try {
      return await startUpstream({ ...options, port: sparePort() });
    } catch (error) {
      if (!hasCode(error, 'EADDRINUSE')) throw error;
    }
  }
}

/** What a file leaves would run on beside the tests of the next one. */
async function deleteConnections({ org: { call } }: Service): Promise<void> {
  const { body } = await call('GET', '/connections?limit=200');
  await Promise.all(body.map(({ id }: { readonly id: string }) => call('DELETE', `/connections/${id}`)));
}
