import { describe, expect, it } from 'vitest';
import { bodyBytesMax } from '../../core/json/body-document.ts';
import { readBody } from './body-gate.ts';

const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  new Request('http://api.test/', { method: 'POST', body, headers });
/** A request whose length is declared, as from a client that does not stream. */
const sized = (text: string) => post(text, { 'content-length': String(Buffer.byteLength(text)) });
const chunked = (chunks: readonly string[]) =>
  new Request('http://api.test/', {
    method: 'POST',
    body: new Blob([...chunks]).stream(),
    duplex: 'half',
  });

describe('body gate', () => {
  it.each(['{"a":[1,"ü",null,true]}', '[]', 'null', '"x"', ' {"a":1}\n', '{"a":{"b":{}}}'])(
    'lets %s through unchanged',
    async (text) => {
      expect(await readBody(sized(text))).toEqual(JSON.parse(text));
      expect(await readBody(chunked([text]))).toEqual(JSON.parse(text));
    },
  );

  it('takes texts of 65,536 characters, and longer ones where that is said', async () => {
    const text = JSON.stringify({ a: 'x'.repeat(65_537) });
    await expect(readBody(sized(text))).rejects.toMatchObject({ issues: [expect.objectContaining({ path: 'a' })] });
    expect(await readBody(sized(text), undefined, { textLengthMax: bodyBytesMax })).toEqual(JSON.parse(text));
  });

  it('accepts any content type', async () => {
    expect(await readBody(post('{"a":1}', { 'content-type': 'text/plain' }))).toEqual({ a: 1 });
  });

  it.each(['', '   ', '{"a":', "{'a':1}", '{"a":1/*x*/}', '{"a":"\u0001"}', 'NaN', '{} {}', 'undefined'])(
    'responds with 400 without a code for %j',
    async (text) => {
      await expect(readBody(sized(text))).rejects.toMatchObject({ name: 'HttpRejection', status: 400, code: null });
    },
  );

  it('says where the text stops being JSON, without quoting it', async () => {
    await expect(readBody(sized('{"token": "hunter2"\n "b"}'))).rejects.toMatchObject({
      message: 'The body is not JSON (line 2 column 2).',
    });
    await expect(readBody(sized('{"token": hunter2}'))).rejects.toMatchObject({
      message: expect.not.stringContaining('hunter2'),
    });
    await expect(readBody(sized(' '))).rejects.toMatchObject({ message: 'The body is empty: send JSON.' });
  });

  it('takes an empty body for what the endpoint says it is', async () => {
    await expect(readBody(sized(''), {})).resolves.toEqual({});
    await expect(readBody(sized('{"a":1}'), {})).resolves.toEqual({ a: 1 });
    await expect(readBody(sized('{'), {})).rejects.toMatchObject({ status: 400, code: null });
  });

  it('responds with 400 without a code when the client disconnects in the middle of the body', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('aborted')) });
    const request = new Request('http://api.test/', { method: 'POST', body: broken, duplex: 'half' });
    await expect(readBody(request)).rejects.toMatchObject({ name: 'HttpRejection', status: 400, code: null });
  });

  it.each([
    ['a gzip stream', '1f8b0800000000000003ab56'],
    ['UTF-16', 'fffe7b007d00'],
    ['a cut character', '7b2261223a22c3227d'],
  ])('responds with 400 without a code for %s', async (_what, hex) => {
    await expect(readBody(post(Buffer.from(hex, 'hex')))).rejects.toMatchObject({ status: 400, code: null });
  });

  it('responds with 413 for a long body by its declared length, without reading it', async () => {
    const request = post('{}', { 'content-length': String(bodyBytesMax + 1) });
    await expect(readBody(request)).rejects.toMatchObject({ status: 413, code: 'validation' });
    expect(request.bodyUsed).toBe(false);
  });

  it('responds with 413 for a long body that declares no length', async () => {
    const request = chunked(['"', 'x'.repeat(bodyBytesMax), '"']);
    await expect(readBody(request)).rejects.toMatchObject({ status: 413, code: 'validation' });
  });

  it('takes a body of exactly the limit', async () => {
    const list = `[${'"xxxxxxx",'.repeat(90_000)}1]`;
    const text = list + ' '.repeat(bodyBytesMax - list.length);
    expect(await readBody(sized(text))).toHaveLength(90_001);
  });

  it.each([
    ['nesting beyond 64 levels', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['nesting of 10,000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['more than 100,000 values', `[${'1,'.repeat(100_000)}1]`],
    ['a string beyond 64 Ki characters', JSON.stringify({ a: 'x'.repeat(65_537) })],
    ['NUL in a string', '{"a":"b\\u0000"}'],
    ['NUL in a name', '{"a\\u0000":1}'],
    ['a lone surrogate', '{"a":"b\\ud800"}'],
    ['a lone surrogate in a name', '{"a\\ud800":1}'],
    ['a number beyond a double', '{"a":-1e400}'],
    ['__proto__', '{"__proto__":{"isAdmin":true}}'],
    ['constructor', '{"a":{"constructor":1}}'],
    ['prototype', '{"a":[{"prototype":1}]}'],
  ])('responds with 400 validation for %s', async (_what, text) => {
    await expect(readBody(sized(text))).rejects.toMatchObject({ name: 'AppError', code: 'validation' });
  });

  it('names the place, cut to a sane length', async () => {
    await expect(readBody(sized('{"a":[1,{"b":"\\u0000"}]}'))).rejects.toMatchObject({
      issues: [{ code: 'schema', path: 'a.1.b', message: 'holds the character U+0000' }],
    });
    const name = 'n'.repeat(5000);
    await expect(readBody(sized(`{"${name}":"\\u0000"}`))).rejects.toMatchObject({
      issues: [{ path: 'n'.repeat(200) }],
    });
  });

  it('takes nesting of exactly 64 levels', async () => {
    const text = `${'['.repeat(64)}1${']'.repeat(64)}`;
    expect(await readBody(sized(text))).toEqual(JSON.parse(text));
  });
});
