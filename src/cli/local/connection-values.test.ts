import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { specOf } from '../../core/spec-tests/spec-tests-fixture.ts';
import { readConnectionValues } from './connection-values.ts';

const spec = specOf(
  {},
  {},
  {
    connectionParams: [
      { key: 'text', type: 'string', default: 'none' },
      { key: 'count', type: 'integer', required: false },
      { key: 'flag', type: 'boolean', required: false },
      { key: 'list', type: 'string_list', required: false },
      { key: 'any', type: 'json', required: false },
      { key: 'key', type: 'string', secret: true },
      { key: 'account', type: 'json', secret: true },
    ],
    tests: [],
  },
);

const read = (params: readonly string[], secrets: readonly string[] = [], input = '') => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const io = { stdin: Readable.from([input]), stdout: nowhere, stderr: nowhere };
  const tools = { ...io, env: { ACCOUNT: '{"id":1}' }, folder: '.', signal: new AbortController().signal };
  return readConnectionValues(tools, spec, { params, secrets, accessToken: null });
};

describe('the values of a connection on the command line', () => {
  it('have the types that the spec declares, and its defaults', async () => {
    const params = ['count=7', 'flag=true', 'list=a, b', 'any={"x":[1]}'];
    expect(await read(params, ['key=-', 'account=env:ACCOUNT'], 'k')).toEqual({
      values: {
        params: { text: 'none', count: 7, flag: true, list: ['a', 'b'], any: { x: [1] } },
        secrets: { key: 'k', account: { id: 1 } },
      },
      accessToken: null,
    });
    expect((await read(['text=7', 'list=["a,b"]'])).values.params).toMatchObject({ text: '7', list: ['a,b'] });
    expect((await read(['text=a=b'])).values.params).toMatchObject({ text: 'a=b' });
  });

  it.each([
    { params: ['count=many'], says: 'count: expected an integer' },
    { params: ['unknown=1'], says: 'The spec has no param "unknown". It has: text, count, flag, list, any.' },
    { params: ['text'], says: '--param takes name=value.' },
    { params: ['key=hunter2'], says: 'key is secret: use --secret key=-' },
    { params: [], secrets: ['text=-'], says: 'text is not secret: use --param text=VALUE.' },
    { params: [], secrets: ['key=hunter2'], says: '--secret key: a secret is not written on the command line' },
    { params: [], secrets: ['other=-'], says: 'The spec has no secret "other". It has: key, account.' },
  ])('are refused with the reason, and a secret is not repeated: $says', async ({ params, secrets, says }) => {
    const error: unknown = await read(params, secrets).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining(says) });
    expect(String(error)).not.toContain('hunter2');
  });
});
