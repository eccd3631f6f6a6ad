import { beforeAll, describe, expect, it } from 'vitest';
import { caseFigure } from '../support/security/figure.ts';
import { useStack } from '../support/service/use-stack.ts';

const shared = useStack({});

/** Patterns that take long to try, or to compile. */
const patterns = ['^(a+)+$', '^(?=(a+)+$)a', '(?:(?:a?){70}){70}', '(?:(?:a?){90}){90}', 'a'.repeat(1000)];

/** Specs that take long to check. */
const shapes = {
  'patterns that take for ever': (n: number) => ({
    connectionParams: Array.from({ length: 200 }, (_, index) => ({
      key: `p${index}`,
      type: 'string',
      pattern: patterns[n % patterns.length],
      default: `${'a'.repeat(2000)}!`,
    })),
  }),
  'thousands of expressions': () => ({
    resources: [
      {
        key: 'items',
        primaryKey: 'id',
        request: {
          path: '/items',
          headers: Object.fromEntries(
            Array.from({ length: 5000 }, (_, name) => [`x-${name}`, `{{ params.p${name} }}`]),
          ),
        },
      },
    ],
  }),
};

it.each(Object.entries(shapes))(
  '100 at once with %s keep the API from others for less than 5 s',
  async (_, shape) => {
    const { stack } = shared();
    const { statuses, slowestMs } = await flood((n) =>
      stack.org.call('POST', '/specs', { body: { ...plain(`hostile-${n}`), ...shape(n) } }),
    );
    // It was 27 s; after 5 s a process that does not respond is replaced.
    expect(slowestMs).toBeLessThan(5000);
    expect(statuses.filter((status) => ![400, 429].includes(status))).toEqual([]);
  },
  120_000,
);

/** Documents that take long to read, or to convert and check. */
const imports = {
  'text that takes long to read': () => `openapi: 3.1.0\nx: [${'1,'.repeat(49_000)}]`,
  'lists of many fields': () => ({
    openapi: '3.1.0',
    paths: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`/list${index}`, listOf('Wide')])),
    components: { schemas: { Wide: { properties: { id: {}, ...properties } } } },
  }),
};
const listOf = (name: string) => {
  const schema = { type: 'array', items: { $ref: `#/components/schemas/${name}` } };
  return { get: { responses: { 200: { content: { 'application/json': { schema } } } } } };
};
const properties = Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`field-${index}`, {}]));

it.each(Object.entries(imports))(
  '100 imports at once of %s keep the API from others for less than 5 s',
  async (_, document) => {
    const body = { format: 'openapi', document: document() };
    const { statuses, slowestMs } = await flood(() => shared().stack.org.call('POST', '/specs/import', { body }));
    expect(slowestMs).toBeLessThan(5000);
    expect(statuses.filter((status) => ![200, 400, 429].includes(status))).toEqual([]);
  },
  120_000,
);

describe('a connection whose changes take long to check', () => {
  const headersOf = (n: number) =>
    Object.fromEntries(Array.from({ length: 2500 }, (_, name) => [`x-${name}`, `{{ ${name} + ${n} }}`]));
  const changes = {
    'overrides of its spec': {
      method: 'PATCH',
      path: '',
      body: (n: number) => ({
        specOverridesJson: { resources: [{ key: 'items', request: { headers: headersOf(n) } }] },
      }),
    },
    'an upgrade of its spec': {
      method: 'POST',
      path: '/upgrade-spec',
      body: () => ({ toVersion: '2.0.0', dryRun: true }),
    },
  };
  let id = '';

  beforeAll(async () => {
    const { org } = shared().stack;
    const [first, second] = [plain('changed'), plain('changed', '2.0.0')];
    const heavy = {
      ...second,
      resources: second.resources.map((one) => ({ ...one, request: { ...one.request, headers: headersOf(1) } })),
    };
    const ask = async (path: string, body?: unknown) => {
      const reply = await org.call('POST', path, { body });
      if (reply.status >= 400) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
      return reply.body;
    };
    for (const body of [first, heavy]) {
      await ask('/specs', body);
      await ask(`/specs/changed/versions/${body.metadata.version}/publish`);
    }
    const created = await ask('/connections', {
      workspaceId: org.workspaceId,
      specKey: 'changed',
      specVersion: '1.0.0',
      displayName: 'Changed',
      params: {},
      secrets: { databaseUrl: 'postgres://db.example/x' },
    });
    id = created.id;
  });

  it.each(Object.entries(changes))(
    'has 20 of 100 at once with %s checked, and the API is kept from others for less than 5 s',
    async (_, { method, path, body }) => {
      const { org } = shared().stack;
      const { statuses, slowestMs } = await flood((n) =>
        org.call(method, `/connections/${id}${path}`, { body: body(n) }),
      );
      expect(slowestMs).toBeLessThan(5000);
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect((await org.call(method, `/connections/${id}${path}`, { body: body(0) })).status).toBe(200);
    },
    120_000,
  );
});

interface Flood {
  readonly statuses: readonly number[];
  readonly slowestMs: number;
}

/** {@link floodOnce}; a machine that was busy with something else is measured once more. */
async function flood(request: (n: number) => Promise<{ readonly status: number }>): Promise<Flood> {
  const first = await floodOnce(request);
  const result = first.slowestMs < 5000 ? first : await floodOnce(request);
  caseFigure('heldUpBySpecs', result.slowestMs >= 5000);
  return result;
}

/** Sends 100 requests at once, while another org uses the API; the statuses that came, and the longest time it waited. */
async function floodOnce(request: (n: number) => Promise<{ readonly status: number }>): Promise<Flood> {
  const victim = await shared().stack.newOrg();
  const statuses: number[] = [];
  const attacks = Array.from({ length: 100 }, async (_, n) => {
    statuses.push((await request(n)).status);
  });
  await Promise.race(attacks);
  let slowestMs = 0;
  while (statuses.length < attacks.length) {
    const startedAt = performance.now();
    expect((await victim.call('GET', '/connections')).status).toBe(200);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
  await Promise.all(attacks);
  return { statuses, slowestMs };
}

const plain = (key: string, version = '1.0.0') => ({
  metadata: { key, name: 'Hostile', version },
  connectionParams: [{ key: 'databaseUrl', type: 'string', secret: true }],
  http: { baseUrl: 'https://api.example' },
  resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' } }],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}' },
});
