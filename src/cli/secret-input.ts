import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { usageError } from './command-error.ts';
import type { Tools } from './tools.ts';

type SecretSource = { readonly from: 'stdin' } | { readonly from: 'env'; readonly variable: string };

export interface WantedSecret {
  readonly name: string;
  readonly source: SecretSource;
}

/**
 * Parses `-` or `env:NAME`. Throws usage errors that do not repeat the text: a secret typed there is already in `ps`
 * and in the shell's history.
 */
export function secretSource(option: string, text: string): SecretSource {
  if (text === '-') return { from: 'stdin' };
  const [, variable] = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(text) ?? [];
  if (variable !== undefined) return { from: 'env', variable };
  throw usageError(
    `${option}: a secret is not written on the command line, where ps and the history of the shell show it. ` +
      `Write - to type or pipe it, or env:NAME for a variable of the environment. If the value is real, replace it.`,
  );
}

/**
 * A terminal prompts for each without echo; otherwise stdin has a line for each, or is as a whole a single value.
 * Throws usage errors.
 */
export async function readSecrets(
  tools: Pick<Tools, 'env' | 'stdin' | 'stderr' | 'signal'>,
  wanted: readonly WantedSecret[],
): Promise<ReadonlyMap<string, string>> {
  const typed = wanted.filter(({ source }) => source.from === 'stdin').map(({ name }) => name);
  const values = typed.length === 0 ? new Map<string, string>() : await readTyped(tools, typed);
  return new Map(
    wanted.map(({ name, source }) => [
      name,
      source.from === 'env' ? variableOf(tools.env, source.variable) : notEmpty(name, values.get(name)),
    ]),
  );
}

function variableOf(env: Tools['env'], variable: string): string {
  const value = env[variable];
  if (value === undefined || value === '')
    throw usageError(`The environment has no variable ${variable}, or an empty one.`);
  return value;
}

function notEmpty(name: string, value: string | undefined): string {
  if (value === undefined || value === '')
    throw usageError(`No value for ${name}: stdin has too few lines, or an empty one.`);
  return value;
}

async function readTyped(
  tools: Pick<Tools, 'stdin' | 'stderr' | 'signal'>,
  names: readonly string[],
): Promise<Map<string, string>> {
  const { stdin } = tools;
  if (stdin.isTTY) return await prompt(tools, names);
  const text = (await readAll(stdin)).replace(/\r?\n$/, '');
  const [only] = names;
  if (names.length === 1 && only !== undefined) return new Map([[only, text]]);
  const lines = text.split(/\r?\n/);
  return new Map(names.map((name, index) => [name, lines[index] ?? '']));
}

async function readAll(stdin: Tools['stdin']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

async function prompt(
  { stdin, stderr, signal }: Pick<Tools, 'stdin' | 'stderr' | 'signal'>,
  names: readonly string[],
): Promise<Map<string, string>> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nothing, terminal: true });
  const close = () => reader.close();
  reader.once('SIGINT', close);
  signal.addEventListener('abort', close, { once: true });
  // It buffers lines that are pasted at once.
  const lines = reader[Symbol.asyncIterator]();
  try {
    const values = new Map<string, string>();
    for (const name of names) {
      stderr.write(`${name}: `);
      const { done, value } = await lines.next();
      stderr.write('\n');
      if (done) throw usageError('Canceled: no secret was given.');
      values.set(name, value);
    }
    return values;
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}
