import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSpecVersion, markPublished } from '../../db/queries/specs.ts';
import { orgScope } from '../../db/scope.ts';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';
import { specDocument } from '../support/upstream/api-fixtures.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

/** A spec with a test that expects the given watermark; the run comes to `right`. */
function tested(key: string, watermarkAfter: string) {
  const document = specDocument({ key });
  const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };
  const records = [{ id: 1, at: '2025-12-01T00:00:00Z' }];
  const test = {
    name: 'one record',
    resource: 'items',
    mocks: [{ request: { path: '/items' }, respond: { body: { data: records } } }],
    expect: { status: 'succeeded', stats: { recordsOut: 1 }, watermarkAfter },
  };
  return {
    ...document,
    resources: document.resources.map((resource) => ({
      ...resource,
      incremental,
      transform: '{ "id": id, "on": $substring(at, 0, 10) }',
    })),
    tests: [test],
  };
}

const right = '2025-12-01T00:00:00.000Z';
const wrong = '2026-12-01T00:00:00.000Z';
const failing = {
  code: 'schema',
  path: 'tests.0.expect.watermarkAfter',
  message: `test "one record": expected "${wrong}", got "${right}"`,
};

describe('the tests inside a spec', () => {
  it('are run by validate, which reports what does not hold', async () => {
    const validate = (watermark: string) =>
      org.call('POST', '/specs/tested/validate', { body: tested('tested', watermark) });
    expect(await validate(wrong)).toMatchObject({ status: 200, body: { valid: false, issues: [failing] } });
    expect(await validate(right)).toMatchObject({ status: 200, body: { valid: true } });
  });

  it('are not run while the spec itself is wrong', async () => {
    const body = { ...tested('tested', wrong), resorces: [] };
    const { body: reply } = await org.call('POST', '/specs/tested/validate', { body });
    expect(reply.issues.map(({ path }: { readonly path: string }) => path)).toEqual(['resorces']);
  });

  it('must pass before a draft is published', async () => {
    const at = '/specs/guarded/versions/1.0.0';
    expect(await org.call('POST', '/specs', { body: tested('guarded', wrong) })).toMatchObject({ status: 201 });
    expect(await org.call('POST', `${at}/publish`)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation', issues: [failing] } },
    });
    expect(await org.call('GET', at)).toMatchObject({ body: { status: 'draft' } });
    expect(await org.call('PUT', at, { body: tested('guarded', right) })).toMatchObject({ status: 200 });
    expect(await org.call('POST', `${at}/publish`)).toMatchObject({ status: 200, body: { status: 'published' } });
  });

  it('are those of the document that is published: one that is changed while they run stays a draft', async () => {
    await org.call('POST', '/specs', { body: tested('raced', right) });
    const scope = orgScope(org.orgId);
    const begun = await findSpecVersion(api.deps.db, scope, { key: 'raced', version: '1.0.0' });
    await org.call('PUT', '/specs/raced/versions/1.0.0', { body: tested('raced', wrong) });
    expect(begun && (await markPublished(api.deps.db, scope, begun))).toBeUndefined();
    expect(await org.call('GET', '/specs/raced/versions/1.0.0')).toMatchObject({ body: { status: 'draft' } });
  });
});
