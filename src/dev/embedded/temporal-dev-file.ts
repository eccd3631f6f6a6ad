import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';

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
  /** The pragmas of the SQLite database: name to value. */
  readonly sqlitePragmas: Values;
}

/**
 * Reads sections, environments, keys and scalars of a YAML file in the form the Temporal CLI takes. A scalar is text as
 * it is written: `2000` and `true` are no number and no boolean. Other environments may have any form.
 * @throws Error naming the line that is not YAML or has another form.
 */
export function readTemporalDevFile(path: string): TemporalDevSettings {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, 'utf8'), { schema: 'failsafe', lineCounter: lines });
  const [mistake] = document.errors;
  // The lines after the first one of the message repeat the file.
  if (mistake !== undefined) throw new Error(`${path}: ${mistake.message.split(':\n')[0]}`, { cause: mistake });
  const refuse: Refuse = (node, form) => {
    const { line } = lines.linePos(isNode(node) ? (node.range?.[0] ?? 0) : 0);
    throw new Error(`${path}, line ${line}: expected ${form}`);
  };
  const values = (section: string): Values => {
    const environment = valueOf(valueOf(document.contents, section, refuse), temporalDevEnv, refuse);
    return Object.fromEntries(pairsOf(environment, refuse).map(({ key, value }) => [key, textOf(value, refuse)]));
  };
  return {
    cli: values('env'),
    searchAttributes: values('search-attributes'),
    dynamicConfig: values('dynamic-config'),
    sqlitePragmas: values('sqlite-pragmas'),
  };
}

/** Throws an error that names the line of the node and the form that it should have. */
type Refuse = (node: unknown, form: string) => never;

/** The value of a key; undefined: there is none. */
const valueOf = (node: unknown, name: string, refuse: Refuse): unknown =>
  pairsOf(node, refuse).find(({ key }) => key === name)?.value;

function pairsOf(node: unknown, refuse: Refuse): readonly { readonly key: string; readonly value: unknown }[] {
  if (isEmpty(node)) return [];
  if (!isMap(node)) return refuse(node, '"key:" or "key: value"');
  return node.items.map(({ key, value }) => ({ key: textOf(key, refuse), value }));
}

function textOf(node: unknown, refuse: Refuse): string {
  if (isEmpty(node)) return '';
  return isScalar(node) ? String(node.value) : refuse(node, 'one value');
}

/** A key without a value, or a file without a key. */
const isEmpty = (node: unknown): boolean =>
  node === undefined || node === null || (isScalar(node) && node.value === '');

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
