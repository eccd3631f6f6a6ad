/** Every list of a body or a form has a length, and a longer one is refused by it alone: nothing in it is looked at. */
import type * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { consoleRoutes } from '../../src/console/pages/index.ts';
import { ConnectorSpec } from '../../src/core/spec/schema/spec-schema.ts';
import { openConsole } from '../support/console/console-client.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { createActiveConnection, publishSpec } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Nearly as many as a body has room for. */
const many = 99_000;
const lists = {
  'distinct texts': Array.from({ length: many }, (_, n) => String(n)),
  zeros: Array<number>(many).fill(0),
};

/** What the kinds of schemas have that are made of others. */
interface AnySchema {
  readonly type: string;
  readonly entries?: Readonly<Record<string, AnySchema>>;
  readonly wrapped?: AnySchema;
  readonly options?: readonly unknown[];
}

type Path = readonly string[];

/** The places of the lists in a schema, but for those in other lists. */
function listsIn({ type, entries, wrapped, options }: AnySchema): readonly Path[] {
  if (type === 'array') return [[]];
  if (wrapped) return listsIn(wrapped);
  if (entries) {
    return Object.entries(entries).flatMap(([name, entry]) => listsIn(entry).map((path) => [name, ...path]));
  }
  const isOfSchemas = ['intersect', 'union', 'variant'].includes(type);
  return isOfSchemas ? (options ?? []).flatMap((option) => listsIn(option as AnySchema)) : [];
}

const placesIn = (schema: v.GenericSchema): readonly Path[] => {
  const places = listsIn(schema as unknown as AnySchema).map((path) => path.join('.'));
  return [...new Set(places)].map((place) => place.split('.'));
};

/** The document with another value at a place. */
function withValue(document: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value;
  const { [name]: before, ...others } = { [name]: undefined, ...(document as Readonly<Record<string, unknown>>) };
  return { ...others, [name]: withValue(before, rest, value) };
}

const bodies = routes.flatMap((route) =>
  // The bodies of a connect session need its token.
  (route.body && route.bodyName === undefined && route.auth === 'api_key' ? placesIn(route.body) : []).map((place) => ({
    ...route,
    place,
    name: `${route.method.toUpperCase()} ${route.path}: ${place.join('.')}`,
  })),
);

async function post(method: string, path: string, document: unknown) {
  const before = process.cpuUsage();
  const response = await api.app.request(`/api/v1${path.replace(/:\w+/g, 'x')}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${org.apiKey}` },
    body: JSON.stringify(document),
  });
  const text = await response.text();
  // A process that does not respond for 5 s is replaced. Of its own time, as a busy machine gives it less.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(5000);
  return { status: response.status, text };
}

describe('a list of 99,000 items in a body', () => {
  it('is looked for where there are lists', () => {
    expect(bodies.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['POST /webhook-endpoints: connectionIds', 'PATCH /oauth/settings: returnOrigins']),
    );
  });

  it.each(bodies)('is one issue, in a short response: $name', async ({ method, path, place, bodyExample }) => {
    for (const list of Object.values(lists)) {
      const { status, text } = await post(method, path, withValue(bodyExample ?? {}, place, list));
      expect(status, text.slice(0, 500)).toBe(400);
      expect(JSON.parse(text).error.issues).toEqual([
        { code: 'schema', path: place.join('.'), message: expect.stringMatching(/^expected at most \d+ items$/) },
      ]);
    }
  });

  it.each(placesIn(ConnectorSpec).map((place) => place.join('.')))(
    'is a hundred issues at most of a spec: %s',
    async (place) => {
      for (const list of Object.values(lists)) {
        const { status, text } = await post('post', '/specs', withValue({}, place.split('.'), list));
        expect([status, text.length < 40_000]).toEqual([400, true]);
      }
    },
  );
});

describe('tens of thousands of values that a spec does not name', () => {
  const params = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, n]));

  it('are a hundred issues of the change, and how many more there are, also in its plan', async () => {
    await publishSpec(org);
    const path = `/connections/${await createActiveConnection(org)}`;
    const refused = await org.call('PATCH', path, { body: { params } });
    const planned = await org.call('PATCH', path, { body: { params, dryRun: true } });
    expect([refused.status, planned.status]).toEqual([400, 200]);
    for (const issues of [refused.body.error.issues, planned.body.plan.issues]) {
      expect(issues).toHaveLength(101);
      expect(issues.at(-1).message).toBe('and 39900 more issues');
    }
  });
});

describe('a list of tens of thousands of items in a form', () => {
  const fields = ['ids[]', 'resourceKeys[]', 'eventTypes[]', 'include[]'];

  it.each(consoleRoutes.filter(({ method }) => method === 'post').map(({ path }) => path))(
    'is refused or ignored in a short response: %s',
    async (path) => {
      const console = await openConsole(api, org.apiKey);
      const startedMs = performance.now();
      const form = Object.fromEntries(fields.map((name) => [name, lists['distinct texts'].slice(0, 15_000)]));
      const { status, text } = await console.post(`/console${path.replace(/:\w+/g, 'x')}`, form);
      expect(performance.now() - startedMs).toBeLessThan(5000);
      expect(status).toBeGreaterThanOrEqual(300);
      expect(status).toBeLessThan(500);
      expect(text.length).toBeLessThan(40_000);
    },
  );
});
