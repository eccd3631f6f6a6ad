import type { JsonObject } from '../../json/json-object.ts';
import { own } from './document.ts';
import type { FoundList } from './list-response.ts';
import { pathOf, plainName } from './names.ts';
import type { Operation, Parameter } from './operations.ts';
import * as names from './page-names.ts';
import type { ReadShape, Shape } from './shape.ts';

export interface GuessedPagination {
  readonly pagination: JsonObject;
  /** The parameter that carries the page size, and its value. */
  readonly query: JsonObject;
  readonly from: string;
}

/** Most items of a page: longer responses are slower than two shorter ones. */
const sizeMax = 1000;
/** Size where the document names none and the kind of pages needs one. */
const sizeUnknown = 100;

interface Clues {
  readonly operation: Operation;
  readonly list: FoundList;
  readonly read: ReadShape;
  readonly key: string;
}

interface Field {
  readonly path: string;
  readonly steps: readonly string[];
  readonly shape: Shape;
}

/** Guesses how the pages of a list are read, from the names of parameters and fields alone. */
export function guessPagination(clues: Clues): GuessedPagination {
  const { operation } = clues;
  const fields = fieldsOf(clues);
  const param = (known: ReadonlySet<string>) =>
    operation.parameters.find((one) => one.in === 'query' && known.has(plainName(one.name)));
  const [token, page, offset, key, size] = [
    param(names.tokenParams),
    param(names.pageParams),
    param(names.offsetParams),
    param(names.keyParams),
    param(names.sizeParams),
  ];
  const sizing = sizeOf(size);
  const more = fields.find(({ steps }) => names.moreFields.has(steps.at(-1) ?? ''));
  const stop = more === undefined ? {} : { stopWhen: `${more.path} = false` };
  const made = (pagination: JsonObject, from: string): GuessedPagination => ({
    pagination: { ...pagination, ...sizing.size },
    query: sizing.query,
    from,
  });
  if (operation.response.headers.has('link')) return made({ kind: 'link_header' }, 'the header Link');
  const address = fields.find((field) => isAddress(field, token !== undefined));
  if (address !== undefined) return made({ kind: 'next_url', next: address.path }, nameOf(address));
  const tokenIn = token ?? (page !== undefined && !isNumber(page) ? page : undefined);
  const next = fields.find((field) => isToken(field));
  if (tokenIn !== undefined && next !== undefined) {
    return made(
      { kind: 'cursor', next: next.path, inject: inQuery(tokenIn), ...stop },
      `${nameOf(next)} and ${tokenIn.name}`,
    );
  }
  if (key !== undefined) return made({ kind: 'keyset', field: clues.key, inject: inQuery(key), ...stop }, key.name);
  if (page !== undefined) return made({ ...byPage(page, fields), ...stop }, page.name);
  if (offset !== undefined) {
    const total = fields.find((field) => names.totalFields.has(field.steps.at(-1) ?? '') && isCount(field));
    const ends = total === undefined ? stop : { total: total.path };
    // An API may give fewer items than requested: only an empty page is certainly the end.
    const safe = Object.keys(ends).length === 0 && !sizing.isDocumented ? { stopWhen: 'false' } : ends;
    return made({ kind: 'offset', size: sizeUnknown, inject: inQuery(offset), ...safe }, offset.name);
  }
  return { pagination: { kind: 'none' }, query: sizing.query, from: 'no parameter or field of pages' };
}

/** Without a size that the document promises, a page is the last only when it is empty. */
interface Sizing {
  readonly size: JsonObject;
  readonly query: JsonObject;
  readonly isDocumented: boolean;
}

function sizeOf(parameter: Parameter | undefined): Sizing {
  if (parameter === undefined) return { size: {}, query: {}, isDocumented: false };
  const limits = [own(parameter.schema, 'maximum'), own(parameter.schema, 'default')];
  const documented = limits.find((limit) => Number.isSafeInteger(limit) && Number(limit) >= 1);
  if (documented === undefined) return { size: {}, query: {}, isDocumented: false };
  return {
    size: { size: Math.min(Number(documented), sizeMax) },
    query: { [parameter.name]: '{{ page.size }}' },
    isDocumented: true,
  };
}

function byPage(page: Parameter, fields: readonly Field[]): JsonObject {
  const start = own(page.schema, 'minimum') === 0 || own(page.schema, 'default') === 0 ? 0 : 1;
  const count = fields.find(
    (field) =>
      names.pageCountFields.has(field.steps.at(-1) ?? '') &&
      isCount(field) &&
      (start === 1 || field.steps.at(-1) !== 'lastpage'),
  );
  return { kind: 'page', start, inject: inQuery(page), ...(count === undefined ? {} : { totalPages: count.path }) };
}

const inQuery = ({ name }: Parameter): JsonObject => ({ in: 'query', name });
const nameOf = ({ path }: Field): string => path.slice('body.'.length);
const isNumber = ({ schema }: Parameter): boolean => ['integer', 'number'].includes(String(own(schema, 'type')));
const isCount = ({ shape }: Field): boolean => shape.types.has('integer') || shape.types.has('number');
const isText = ({ shape }: Field): boolean => shape.types.has('string') || shape.types.size === 0;

/** `next` alone is an address, unless a parameter takes a token. */
function isAddress(field: Field, takesToken: boolean): boolean {
  const [last = '', before = ''] = field.steps.toReversed();
  if (!isText(field)) return false;
  if (names.addressFields.has(last)) return true;
  if (last === 'href') return before === 'next';
  if (last !== 'next') return false;
  return before === 'links' || field.shape.format === 'uri' || !takesToken;
}

function isToken(field: Field): boolean {
  const [last = '', before = ''] = field.steps.toReversed();
  if (!isText(field) && !isCount(field)) return false;
  if (names.tokenFields.has(last)) return true;
  if (last === 'after') return ['next', 'cursors', 'paging', 'cursor', 'meta', 'pagination'].includes(before);
  if (last === 'cursor') return true;
  return last === 'next' || (last === 'nextpage' && isText(field));
}

/** Fields of the body and of the objects in it that describe pages, two levels down. */
function fieldsOf({ list, read }: Clues): readonly Field[] {
  const found: Field[] = [];
  const walk = (shape: Shape, steps: readonly string[]): void => {
    for (const [name, schema] of shape.properties) {
      // No name that describes pages is this long.
      if (name.length > 40) continue;
      const inside = [...steps, name];
      const path = pathOf(['body', ...inside]);
      if (path === null || inside.join('.') === list.records) continue;
      const field = read(schema);
      found.push({ path, steps: inside.map(plainName), shape: field });
      const isObject = field.types.has('object') && !field.types.has('array');
      if (isObject && inside.length < 3 && names.pageObjects.has(plainName(name))) walk(field, inside);
    }
  };
  if (list.records !== '$') walk(list.body, []);
  return found;
}
