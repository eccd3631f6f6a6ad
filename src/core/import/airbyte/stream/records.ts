import { starsMax } from '../../../json/property-names.ts';
import { type Component, isTrue, partOf, partsOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { type Scope } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { conditionOf, expressionOf, knownText } from '../render.ts';
import { fieldsOf } from './key-transformations.ts';
import { recordScope, type Slice, startScope } from './scopes.ts';
import { transformRecords } from './transformations.ts';

export interface Records {
  readonly decoder: string;
  readonly path: string;
  /** JSONata that shapes an item; `null` when the item is the record. */
  readonly map: string | null;
  readonly filter: string | null;
  /** Fields that `map` adds for other parts of the spec; they are not delivered. */
  readonly hidden: readonly string[];
  /** Top-level fields that the transformations change. */
  readonly changed: ReadonlySet<string>;
  /** JSONata that is true for a response whose path means the same as in the manifest; `null` for every response. */
  readonly successWhen: string | null;
  /** JSONata for the number of items in a response; `null` if they cannot be counted. */
  readonly count: string | null;
  /** Whether scalars are cast to the types of the stream schema. */
  readonly casts: boolean;
  /** Fields by name that are the same for a page, because they depend on its window. */
  readonly late: ReadonlyMap<string, string>;
}

const keptField = 'airbyte_keep';

export function readRecords(
  stream: Component,
  retriever: Component,
  {
    config,
    slice,
    filtersByCursor,
    ofReport = false,
  }: {
    readonly config: Config;
    readonly slice: Slice;
    readonly filtersByCursor: boolean;
    readonly ofReport?: boolean;
  },
): Records {
  const selector = partOf(retriever, 'record_selector');
  if (selector === null) return refuse(retriever.path, 'it has no record_selector');
  if (selector.type !== 'RecordSelector')
    refuseType(selector, 'write the selection as DpathExtractor and RecordFilter');
  if (partOf(stream, 'file_uploader')) refuse(pathAt(stream, 'file_uploader'), 'files are not read; only records are');
  const { path, suffix } = ofReport ? readDownload(retriever, config) : readExtractor(selector, config);
  const decoder = ofReport ? reportDecoder(retriever) : readDecoder(retriever, 'decoder');
  refuseElsewhere(path, decoder, selector.path);
  const shaped = transformRecords(partsOf(stream, 'transformations'), { config, slice, input: suffix });
  const before =
    isTrue(selector, 'transform_before_filtering') ||
    (filtersByCursor && valueOf(selector, 'transform_before_filtering') !== false);
  const scope = (component: Component, record: string): Scope => recordScope({ component, config, slice }, record);
  const found = readFilter(selector, (component) => scope(component, '$'));
  const conflicts = found !== null && shaped.code !== null && !before && reads(found, shaped.changed);
  const kept = conflicts ? readFilter(selector, (component) => scope(component, '$raw')) : null;
  const map = kept === null ? shaped.code : withKept(shaped.code ?? '$', kept, suffix);
  return {
    decoder,
    path,
    successWhen: objectOnly(path),
    map,
    filter: kept === null ? found : keptField,
    hidden: kept === null ? [] : [keptField],
    changed: shaped.changed,
    count: countOf(path),
    casts: castsValues(selector),
    late: shaped.late,
  };
}

const withKept = (code: string, condition: string, suffix: string | null): string =>
  `($raw := ${suffix ?? '$'}; $merge([${code}, {"${keptField}": ${condition}}]))`;

const reads = (code: string, changed: ReadonlySet<string>): boolean =>
  changed.has('*') || [...changed].some((name) => code.includes(name));

function castsValues(selector: Component): boolean {
  const value = valueOf(selector, 'schema_normalization');
  if (value === undefined || value === 'None') return false;
  if (value === 'Default') return true;
  const custom = typeof value === 'string' ? null : partOf(selector, 'schema_normalization');
  if (custom !== null) refuseType(custom, 'only the casts of `Default` are converted');
  return refuse(pathAt(selector, 'schema_normalization'), 'only the casts of `Default` have a counterpart');
}

interface Found {
  readonly path: string;
  readonly suffix: string | null;
}

function readExtractor(selector: Component, config: Config): Found {
  const extractor = partOf(selector, 'extractor');
  return extractor === null ? refuse(selector.path, 'it has no extractor') : readPath(extractor, config);
}

function readPath(extractor: Component, config: Config): Found {
  if (extractor.type !== 'DpathExtractor') refuseType(extractor, 'only DpathExtractor selects by a path');
  if (partOf(extractor, 'record_expander')) {
    refuse(
      pathAt(extractor, 'record_expander'),
      'an item does not become several records; read the items of the list by a resource of their own',
    );
  }
  const at = pathAt(extractor, 'field_path');
  const fields = valueOf(extractor, 'field_path') ?? [];
  if (!Array.isArray(fields)) return refuse(at, 'expected a list of names');
  const scope = startScope({ component: extractor, config });
  const names = fields.map((field) =>
    typeof field === 'number' ? String(field) : knownText(String(field), scope, at),
  );
  return splitPath(names, at);
}

/** The file of a report; without an extractor, each of its items is a record. */
function readDownload(retriever: Component, config: Config): Found {
  const extractor = partOf(retriever, 'download_extractor');
  if (extractor === null) return { path: '$', suffix: null };
  if (extractor.type !== 'ResponseToFileExtractor') return readPath(extractor, config);
  const kept = isTrue(extractor, 'preserve_na_values') ? [''] : missingTexts;
  return { path: '$', suffix: fieldsOf('$', `{$k: $x in ${JSON.stringify(kept)} ? null : $x}`) };
}

/** The extractor of files reads CSV, regardless of the decoder. */
const reportDecoder = (retriever: Component): string =>
  partOf(retriever, 'download_extractor')?.type === 'ResponseToFileExtractor'
    ? 'csv'
    : readDecoder(retriever, 'download_decoder');

/** Values of a CSV file that are null: the default of `pandas.read_csv`. */
const missingTexts: readonly string[] =
  '|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null'.split('|');

const namePattern = /^[\p{L}\p{N}_@#][\p{L}\p{N}_@#:-]*$/u;

/** Names of a path and `*`, which finds the same as in `dpath`. */
function splitPath(names: readonly string[], at: string): Found {
  const odd = names.find(
    (name) =>
      name !== '*' &&
      (!namePattern.test(name) || name === '__proto__' || name === 'constructor' || name === 'prototype'),
  );
  if (odd !== undefined) refuse(at, `the name ${JSON.stringify(odd.slice(0, 100))} cannot be part of response.records`);
  if (names.filter((name) => name === '*').length > starsMax)
    refuse(at, `response.records has \`*\` for at most ${starsMax} of its names`);
  return { path: names.length === 0 ? '$' : names.join('.'), suffix: null };
}

/** Refuses paths that need a single body: to the CDK each element of a list, and each line of a file, is a body. */
function refuseElsewhere(path: string, decoder: string, at: string): void {
  const isStarred = path.split('.').includes('*');
  if (decoder === 'xml' && isStarred) refuse(at, 'a list of one element of XML is no list, so `*` would take it apart');
  if (path !== '$' && (decoder === 'jsonl' || decoder === 'csv'))
    refuse(at, 'a file by lines is one list of items, in which a path finds nothing');
}

/** Without a name in the path, the elements of a list would be taken for the values of an object. */
const objectOnly = (path: string): string | null =>
  path.split('.').every((name) => name === '*') ? '$type(body) != "array" or $count(body) = 0' : null;

function countOf(path: string): string | null {
  if (path === '$') return '($type(body) = "array" ? $count(body) : 1)';
  const names = path.split('.');
  const star = names.indexOf('*');
  if (star === -1) return `$count(${codeOf(['body', ...names])})`;
  const [list, rest] = [codeOf(['body', ...names.slice(0, star)]), names.slice(star + 1)];
  if (rest.includes('*')) return null;
  if (rest.length === 0) return `($type(${list}) = "object" ? $count($keys(${list})) : $count(${list}))`;
  const values = `$type(${list}) = "object" ? $each(${list}, function($v) { $v }) : ${list}`;
  const part = codeOf(['$v', ...rest]);
  const has = `function($v) { $type($v) = "object" and $exists(${part}) and ${part} != null }`;
  return `$count($filter(${values}, ${has}))`;
}

const codeOf = (names: readonly string[]): string =>
  names.map((name, index) => (index === 0 ? name : counted(name))).join('.');

const counted = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``);

function readFilter(selector: Component, scopeFor: (component: Component) => Scope): string | null {
  const filter = partOf(selector, 'record_filter');
  if (filter === null) return null;
  if (filter.type !== 'RecordFilter') refuseType(filter, 'write the condition as a RecordFilter');
  const condition = textOf(filter, 'condition');
  if (condition === undefined || condition === '') return null;
  const value = conditionOf(condition, scopeFor(filter), pathAt(filter, 'condition'));
  return value.constant?.value === true ? null : expressionOf(value);
}

const decoders: Readonly<Record<string, string>> = {
  JsonDecoder: 'json',
  JsonlDecoder: 'jsonl',
  XmlDecoder: 'xml',
  CsvDecoder: 'csv',
  JsonParser: 'json',
  JsonLineParser: 'jsonl',
  CsvParser: 'csv',
};
const packings: ReadonlySet<string> = new Set(['GzipDecoder', 'ZipfileDecoder', 'CompositeRawDecoder', 'GzipParser']);

/** Python's names for UTF-8, with or without a byte order mark. */
const utf8Names = /^(?:u8|cp65001|utf(?:[-_ ]?8(?:[-_ ]sig)?)?)$/;

/** Gzip and zip files are unpacked regardless of the decoder. */
export function readDecoder(retriever: Component, key: 'decoder' | 'download_decoder'): string {
  let decoder = partOf(retriever, key);
  for (let depth = 0; decoder !== null && packings.has(decoder.type) && depth < 10; depth += 1) {
    decoder = partOf(decoder, 'decoder') ?? partOf(decoder, 'parser') ?? partOf(decoder, 'inner_parser');
  }
  if (decoder === null) return 'json';
  const kind = decoders[decoder.type];
  if (kind === undefined) return refuseType(decoder, 'json, jsonl, csv and xml are decoded');
  const encoding = (textOf(decoder, 'encoding') ?? 'utf-8').toLowerCase();
  if (!utf8Names.test(encoding))
    refuse(pathAt(decoder, 'encoding'), `text of the encoding ${encoding.slice(0, 50)} is not read; only UTF-8 is`);
  if (kind === 'csv') refuseCsvSettings(decoder);
  return kind;
}

function refuseCsvSettings(decoder: Component): void {
  const delimiter = textOf(decoder, 'delimiter') ?? ',';
  if (delimiter !== ',') refuse(pathAt(decoder, 'delimiter'), 'CSV is read with commas alone');
  const nulls = valueOf(decoder, 'set_values_to_none');
  if (Array.isArray(nulls) && nulls.length > 0)
    refuse(pathAt(decoder, 'set_values_to_none'), 'no text of a CSV file becomes null');
}
