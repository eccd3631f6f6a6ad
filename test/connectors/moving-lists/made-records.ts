/** Records of a vendor, made like the ones that the tests in a spec have. */

import { valueAt, withValueAt } from '../../../src/core/json/dotted-path.ts';
import { isJsonObject } from '../../../src/core/json/is-json-object.ts';
import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { ConnectorSpec, Resource } from '../../../src/core/spec/schema/spec-schema.ts';
import type { Mock, SpecTest } from '../../../src/core/spec/schema/test-schema.ts';

/** A record of the list. */
export interface Row {
  readonly no: number;
  /** The value of its cursor, in milliseconds. */
  readonly at: number;
  /** How often it has changed. */
  readonly revision: number;
}

/** How a vendor lists the records of a resource, by a test of the spec. */
export interface Example {
  readonly resource: Resource;
  readonly test: SpecTest;
  /** The mock of a page with records. */
  readonly mock: Mock;
  /** Where the raw item has its key. */
  readonly keyPath: string;
  readonly item: JsonObject;
}

/** Fields that a `map` makes of another one. */
const rawFields: Readonly<Record<string, string>> = { UpdatedAt: 'UpdatedDateUTC' };

/** Throws where no test of the spec shows a page of the resource. */
export function exampleOf(spec: ConnectorSpec, resource: Resource): Example {
  const { addFields, records } = resource.response;
  const keyPath = resource.primaryKey.findLast((path) => !Object.hasOwn(addFields, path));
  const path = new RegExp(`${patternOf(resource.request.path ?? '')}$`);
  for (const test of spec.tests) {
    if (test.resource !== resource.key || test.watermark !== null) continue;
    for (const mock of test.mocks) {
      const list = records === '$' ? mock.respond.body : valueAt(mock.respond.body, records);
      const item: unknown = Array.isArray(list) ? list[0] : undefined;
      if (keyPath === undefined || !isJsonObject(item) || !path.test(mock.request.path ?? '')) continue;
      return { resource, test, mock, keyPath, item };
    }
  }
  throw new Error(`No test shows a page of ${resource.key}`);
}

/** The raw item of a row. */
export function itemOf({ resource, keyPath, item }: Example, { no, at, revision }: Row): JsonObject {
  const keyed = withValueAt(item, keyPath, keyLike(valueAt(item, keyPath), no));
  const { incremental } = resource;
  const field = incremental?.kind === 'cursor' ? incremental.cursor.field : undefined;
  const raw = field === undefined ? undefined : (rawFields[field] ?? field);
  const timed = raw === undefined ? keyed : withValueAt(keyed, raw, timeLike(valueAt(item, raw), at));
  return withValueAt(timed, 'revision', revision);
}

/** The key of a row as its record has it. */
export const keyOf = ({ keyPath, item }: Example, { no }: Pick<Row, 'no'>): string =>
  String(keyLike(valueAt(item, keyPath), no));

function keyLike(example: unknown, no: number): unknown {
  if (typeof example === 'number') return 1000 + no;
  return /^\d+$/.test(String(example)) ? String(1000 + no) : `key-${1000 + no}`;
}

function timeLike(example: unknown, at: number): unknown {
  if (typeof example === 'number') return example > 1e11 ? at : Math.floor(at / 1000);
  const text = String(example);
  if (/^\d+$/.test(text)) return String(at);
  if (text.startsWith('/Date(')) return `/Date(${at}+0000)/`;
  const [date = '', time = ''] = new Date(at).toISOString().slice(0, -1).split('T');
  const clock = text.includes('.') ? time : time.slice(0, 8);
  const zone = text.endsWith('Z') ? 'Z' : /[+-]\d\d:\d\d$/.test(text) ? '+00:00' : '';
  return `${date}${text.includes(' ') ? ' ' : 'T'}${clock}${zone}`;
}

/** A pattern of the texts that a template can become, with a group for each hole. */
export const patternOf = (template: string): string =>
  template
    .split(/\{\{\{?.*?\}?\}\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('(.+)');
