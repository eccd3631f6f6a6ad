import { expect, it } from 'vitest';
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
    const victim = await stack.newOrg();
    const statuses: number[] = [];
    const attacks = Array.from({ length: 100 }, async (__, n) => {
      const body = { ...plain(`hostile-${n}`), ...shape(n) };
      statuses.push((await stack.org.call('POST', '/specs', { body })).status);
    });
    await Promise.race(attacks);
    let slowestMs = 0;
    while (statuses.length < attacks.length) {
      const startedAt = performance.now();
      expect((await victim.call('GET', '/connections')).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    }
    await Promise.all(attacks);
    caseFigure('heldUpBySpecs', slowestMs >= 5000);
    // It was 27 s; after 5 s a process that does not respond is replaced.
    expect(slowestMs).toBeLessThan(5000);
    expect(statuses.filter((status) => ![400, 429].includes(status))).toEqual([]);
  },
  120_000,
);

const plain = (key: string) => ({
  metadata: { key, name: 'Hostile', version: '1.0.0' },
  http: { baseUrl: 'https://api.example' },
  resources: [{ key: 'items', primaryKey: 'id', request: { path: '/items' } }],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}' },
});
