import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi, type TestApi, type TestOrg } from '../support/service/api.ts';

let api: TestApi;
let org: TestOrg;
beforeAll(async () => {
  api = await startApi();
  org = await api.newOrg();
});
afterAll(() => api[Symbol.asyncDispose]());

describe('GET /catalogue', () => {
  it('lists the ready connectors without their specs, each with what it was verified against', async () => {
    const { status, body } = await org.call('GET', '/catalogue');
    expect(status).toBe(200);
    const github = body.find(({ key }: { readonly key: string }) => key === 'github');
    expect(github).toEqual({
      key: 'github',
      name: 'GitHub',
      version: expect.any(String),
      description: expect.stringContaining('issues'),
      tags: ['development'],
      authKind: 'bearer',
      resources: expect.arrayContaining(['issues', 'pull-requests']),
      verifiedAgainst: {
        kind: expect.any(String),
        statement: expect.any(String),
        on: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      },
    });
  });
});

describe('GET /catalogue/:key', () => {
  it('has a spec from which a draft is created and published', async () => {
    const { body } = await org.call('GET', '/catalogue/kinto');
    expect(body.readme).toContain('# Kinto');
    expect(await org.call('POST', '/specs', { body: body.spec })).toMatchObject({ status: 201 });
    const published = await org.call('POST', `/specs/kinto/versions/${body.version}/publish`);
    expect(published).toMatchObject({ status: 200, body: { status: 'published', specJson: body.spec } });
  });

  it.each(['no-such-connector', '..', 'GitHub'])('responds with 404 to %s', async (key) => {
    expect(await org.call('GET', `/catalogue/${encodeURIComponent(key)}`)).toMatchObject({ status: 404 });
  });
});
