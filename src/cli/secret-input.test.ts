import { PassThrough, Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readSecrets, secretSource, type WantedSecret } from './secret-input.ts';

const fromStdin = (name: string): WantedSecret => ({ name, source: { from: 'stdin' } });

function toolsOf(stdin: Readable, env: Readonly<Record<string, string>> = {}) {
  const shown: string[] = [];
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      shown.push(String(chunk));
      done();
    },
  });
  return { tools: { env, stdin, stderr, signal: new AbortController().signal }, shown };
}

const read = async (text: string, asked: readonly WantedSecret[], env = {}) =>
  Object.fromEntries(await readSecrets(toolsOf(Readable.from([text]), env).tools, asked));

describe('a secret of the command line', () => {
  it('is the whole of stdin where it is the only one, lines of a private key too', async () => {
    expect(await read('-----BEGIN\nabc\n', [fromStdin('key')])).toEqual({ key: '-----BEGIN\nabc' });
  });

  it('is a line of stdin where there are several, in the order of the command line', async () => {
    expect(await read('one\r\ntwo\r\n', [fromStdin('a'), fromStdin('b')])).toEqual({ a: 'one', b: 'two' });
    await expect(read('one\n', [fromStdin('a'), fromStdin('b')])).rejects.toThrow('No value for b');
    await expect(read('', [fromStdin('a')])).rejects.toThrow('No value for a');
  });

  it('comes from a variable of the environment that has a value', async () => {
    const asked: readonly WantedSecret[] = [{ name: 'a', source: { from: 'env', variable: 'KEY' } }];
    expect(await read('', asked, { KEY: 'k' })).toEqual({ a: 'k' });
    await expect(read('', asked, { KEY: '' })).rejects.toThrow('The environment has no variable KEY');
  });

  it('is asked for at a terminal, and what is typed is not shown', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const { tools, shown } = toolsOf(terminal);
    const asked = readSecrets(tools, [fromStdin('apiKey'), fromStdin('other')]);
    terminal.write('hunter2\r');
    terminal.write('hunter3\r');
    expect(Object.fromEntries(await asked)).toEqual({ apiKey: 'hunter2', other: 'hunter3' });
    expect(shown.join('')).toBe('apiKey: \nother: \n');
  });

  it('is not given where Ctrl-C ends the question', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const asked = readSecrets(toolsOf(terminal).tools, [fromStdin('apiKey')]);
    terminal.write('hun\u0003');
    await expect(asked).rejects.toThrow('Canceled: no secret was given.');
  });

  it.each(['hunter2', 'env:', 'env:1X', 'env:A B', '--', ''])('is not written as %j', (text) => {
    expect(() => secretSource('--secret key', text)).toThrow(
      /^--secret key: a secret is not written on the command line/,
    );
    expect(() => secretSource('--secret key', text)).not.toThrow('hunter2');
  });
});
