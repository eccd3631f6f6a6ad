import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { checkBody, checkQuery, idParams } from './inputs.ts';
import { type ApiDeps, type RawRequest, route } from './route.ts';

const noDeps = {} as ApiDeps;
const request: RawRequest = { caller: null, browser: null, params: {}, query: {}, document: undefined };
const facts = { method: 'post', path: '/things/:id', summary: 's', tag: 't', auth: 'none', status: 200 } as const;
const Thing = v.object({ id: v.string() });

const rename = route({
  ...facts,
  params: idParams('con', 'Thing'),
  query: v.object({ size: v.optional(v.picklist(['small', 'large'])), at: v.string() }),
  body: v.object({ name: v.pipe(v.string(), v.minLength(1)), tags: v.optional(v.array(v.string()), []) }),
  response: v.object({ id: v.string(), name: v.string(), tags: v.array(v.string()), at: v.string() }),
  errors: [],
  handle: async ({ params, query, body }) => ({ id: params.id, ...body, at: query.at }),
});
const good: RawRequest = {
  ...request,
  params: { id: 'con_01kaemm0dce7xb1k4c1m1f2p3q' },
  query: { at: ['home'] },
  document: { name: 'n' },
};
const rejectionOf = (changes: Partial<RawRequest>): unknown => {
  try {
    return rename.prepare({ ...good, ...changes });
  } catch (error) {
    return error;
  }
};

describe('a declared endpoint', () => {
  it('hands checked input to its handler, unknown fields dropped', async () => {
    const act = rename.prepare({ ...good, document: { name: 'n', zzz: 1 } });
    expect(await act(noDeps)).toEqual({ id: good.params['id'], name: 'n', tags: [], at: 'home' });
  });

  it('takes a field and a parameter by the name that other endpoints have for it, and not by both', () => {
    const resource = v.object({ resource: v.string() });
    const upgrade = v.object({ toVersion: v.string() });
    expect(checkBody(resource, { resourceKey: 'a' })).toEqual({ resource: 'a' });
    expect(() => checkBody(resource, { resourceKey: 'a', resource: 'b' })).toThrow('The body is not valid.');
    expect(checkBody(upgrade, { specVersion: '1.1.0' })).toEqual({ toVersion: '1.1.0' });
    expect(checkQuery(resource, { resourceKey: ['a'] })).toEqual({ resource: 'a' });
    expect(() => checkQuery(resource, { resource: ['a'], resourceKey: ['b'] })).toThrow('The query is not valid.');
    expect(checkBody(v.object({ resourceKey: v.string() }), { resource: 'a' })).toEqual({ resourceKey: 'a' });
  });

  it('responds with 404 and the noun for an id that no query needs to see', () => {
    for (const id of ['abc', 'con_', 'run_01kaemm0dce7xb1k4c1m1f2p3q', 'CON_01KAEMM0DCE7XB1K4C1M1F2P3Q', 'a\u0000b']) {
      expect(rejectionOf({ params: { id } })).toMatchObject({ code: 'not_found', message: 'Thing not found.' });
    }
  });

  it('names every issue of a body by its path, and no value', () => {
    expect(rejectionOf({ document: { name: '', tags: ['ok', 7, 'hunter2', {}] } })).toMatchObject({
      code: 'validation',
      issues: [
        { code: 'schema', path: 'name', message: 'expected at least 1 character' },
        { code: 'schema', path: 'tags.1', message: 'expected a string' },
        { code: 'schema', path: 'tags.3', message: 'expected a string' },
      ],
    });
    expect(rejectionOf({ document: {} })).toMatchObject({ issues: [{ path: 'name', message: 'is required' }] });
  });

  it.each([null, 'x', true, 7, []])('refuses %j as a body', (document) => {
    expect(rejectionOf({ document })).toMatchObject({ code: 'validation' });
  });

  it('refuses a missing query parameter without a code, and a wrong one with', () => {
    expect(rejectionOf({ query: {} })).toMatchObject({ name: 'HttpRejection', status: 400, code: null });
    expect(rejectionOf({ query: { at: ['x'], size: ['huge'] } })).toMatchObject({
      code: 'validation',
      issues: [{ path: 'size' }],
    });
  });

  it('refuses a query parameter given twice, and ignores one that it does not have', () => {
    expect(rejectionOf({ query: { at: ['x', 'y'], other: ['1', '2'] } })).toMatchObject({
      code: 'validation',
      issues: [{ code: 'schema', path: 'at', message: 'is given more than once: send it once' }],
    });
    expect(rejectionOf({ query: { at: ['x'], other: ['1', '2'] } })).toBeTypeOf('function');
  });

  it('checks the body before it reports an unknown id', () => {
    expect(rejectionOf({ params: { id: 'abc' }, document: {} })).toMatchObject({ code: 'validation' });
  });

  it('compiles only when the handler reads what is declared and returns the response', () => {
    const base = { ...facts, response: Thing, errors: [] } as const;
    const keyed = { ...base, auth: 'api_key' } as const;
    const declared = [
      // @ts-expect-error -- another shape than the response
      route({ ...base, handle: async () => ({ name: 'n' }) }),
      // @ts-expect-error -- a parameter that is not declared
      route({ ...base, params: Thing, handle: async ({ params }) => ({ id: params.ID }) }),
      // @ts-expect-error -- no credential, no scope
      route({ ...base, handle: async ({ scope }) => ({ id: scope.orgId }) }),
      route({ ...keyed, handle: async ({ scope }) => ({ id: scope.orgId }) }),
    ];
    expect(declared).toHaveLength(4);
  });
});
