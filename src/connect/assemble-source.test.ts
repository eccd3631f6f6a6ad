import { afterAll, expect, it } from 'vitest';
import { createTestEvaluator } from '../core/expressions/evaluator-fixture.ts';
import { createEgressGuard } from '../core/http/egress.ts';
import { createRedactor } from '../core/http/redact.ts';
import { decodeAtOnce } from '../core/source/decode/decode-turns.ts';
import { checkSpec } from '../core/spec/check/check.ts';
import { assembleSource } from './assemble-source.ts';

const evaluator = createTestEvaluator({ size: 1 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const spec = () => {
  const result = checkSpec({
    metadata: { key: 'acme', name: 'Acme', version: '1.0.0' },
    http: { baseUrl: 'https://api.test' },
    connectionParams: [{ key: 'signingKey', type: 'string', secret: true }],
    auth: {
      kind: 'hmac',
      secret: '{{ secrets.signingKey }}',
      algorithm: 'sha512',
      stringToSign: '{{ path }}{{ timestamp }}',
      headers: { 'x-sig': '{{ signature }}' },
    },
    resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' }, response: { records: 'data' } }],
  });
  if (!result.valid) throw new Error(JSON.stringify(result.issues));
  return result.spec;
};

it('the redactor of a run never forgets the secrets of its connection, however many signatures come later', async () => {
  await using stack = new AsyncDisposableStack();
  const redactor = createRedactor([]);
  const [resource] = spec().resources;
  if (!resource) throw new Error('the spec has a resource');
  const signingKey = 'sk-0123456789-of-the-connection';
  const source = await assembleSource(
    {
      egress: createEgressGuard({ allow: [], deny: [], allowHttp: false, proxy: null }),
      socketCache: null,
      decodeTurns: decodeAtOnce,
      evaluator,
      openBuckets: () => ({}) as never,
      openTokenStore: () => ({}) as never,
      apps: async () => null,
    },
    {
      runId: 'run_test',
      connectionId: 'con_test',
      setup: { spec: spec(), specChecksum: 'sha256:test', params: {}, secrets: { signingKey } },
      resource,
      startedAt: new Date(),
      backfill: null,
      logCall: () => undefined,
      redactor,
      stack,
    },
  );
  for (let nth = 1; nth <= 17; nth += 1) source.mask(`signature-${nth}-of-many`);
  expect(redactor.values(`an invalid record says ${signingKey}`)).toBe('an invalid record says [redacted]');
});
