import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `temporal-dev.yaml` of this project. */
export const temporalDevFile = fileURLToPath(new URL('../../../temporal-dev.yaml', import.meta.url));

/** The environment of the file that the Temporal CLI is told to read. */
export const temporalDevEnv = 'dev';

type Values = Readonly<Record<string, string>>;

/** What the file says for `dev`. */
export interface TemporalDevSettings {
  /** Flags the Temporal CLI reads itself: `port`, `ui-port`, `ip`, `namespace`, … */
  readonly cli: Values;
  /** Name to type. */
  readonly searchAttributes: Values;
  /** Key to value. */
  readonly dynamicConfig: Values;
  /** Of the SQLite database: name to value. */
  readonly sqlitePragmas: Values;
}

/**
 * Reads section, environment, key and scalar of a file in the form the Temporal CLI takes: the keys of an environment
 * indented below it, or in braces on its line.
 * @throws Error naming the line that has another form.
 */
export function readTemporalDevFile(path: string): TemporalDevSettings {
  const sections = parse(readFileSync(path, 'utf8'), path);
  const values = (section: string): Values => Object.fromEntries(sections.get(`${section}.${temporalDevEnv}`) ?? []);
  return {
    cli: values('env'),
    searchAttributes: values('search-attributes'),
    dynamicConfig: values('dynamic-config'),
    sqlitePragmas: values('sqlite-pragmas'),
  };
}

/** What the file says and the CLI does not read in it, as flags. */
export function temporalFlags({
  searchAttributes,
  dynamicConfig,
  sqlitePragmas,
}: Omit<TemporalDevSettings, 'cli'>): readonly string[] {
  const repeated = (flag: string, values: Values) =>
    Object.entries(values).flatMap(([name, value]) => [flag, `${name}=${value}`]);
  return [
    ...repeated('--search-attribute', searchAttributes),
    ...repeated('--dynamic-config-value', dynamicConfig),
    ...repeated('--sqlite-pragma', sqlitePragmas),
  ];
}

const lineForm = /^(?<indent> *)(?<key>[\w.-]+):(?: +(?<value>.+))?$/;

function parse(text: string, path: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section = '';
  let values = new Map<string, string>();
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replace(/(^|\s)#.*$/, '').trimEnd();
    if (line === '') continue;
    const { indent = '', key = '', value } = lineForm.exec(line)?.groups ?? {};
    if (key === '') throw new Error(`${path}, line ${index + 1}: expected "key:" or "key: value"`);
    if (indent === '') section = key;
    else if (indent.length === 2) sections.set(`${section}.${key}`, (values = parseBraces(value)));
    else values.set(key, unquote(value ?? ''));
  }
  return sections;
}

function parseBraces(value = '{}'): Map<string, string> {
  const pairs = value
    .replace(/^\{|\}$/g, '')
    .split(',')
    .map((pair) => pair.trim());
  return new Map(pairs.filter((pair) => pair !== '').map((pair) => splitPair(pair)));
}

function splitPair(pair: string): [string, string] {
  const colon = pair.indexOf(':');
  return [pair.slice(0, colon).trim(), unquote(pair.slice(colon + 1).trim())];
}

const unquote = (value: string): string => value.replace(/^(["'])(.*)\1$/, '$2');
