import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';

export const temporalDevFile = fileURLToPath(new URL('../../../temporal-dev.yaml', import.meta.url));

export const temporalDevEnv = 'dev';

type Values = Readonly<Record<string, string>>;

export interface TemporalDevSettings {
  /** Flags the Temporal CLI reads itself: `port`, `ui-port`, `ip`, `namespace`, … */
  readonly cli: Values;
  /** Name to type. */
  readonly searchAttributes: Values;
  /** Key to value. */
  readonly dynamicConfig: Values;
  /** Name to value. */
  readonly sqlitePragmas: Values;
}

/**
 * Accepts the form that the Temporal CLI takes. Scalars stay text: `2000` and `true` are not a number and a boolean.
 * Other environments may have any form.
 * @throws Error naming the line that is not YAML or has another form.
 */
export function readTemporalDevFile(path: string): TemporalDevSettings {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(path, 'utf8'), { schema: 'failsafe', lineCounter: lines });
  const [mistake] = document.errors;
  // The later lines of the message repeat the file.
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

type Refuse = (node: unknown, form: string) => never;

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

/** Settings that the CLI does not read from the file. */
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
