import { cutText } from '../../json/cut-text.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import type { OpenapiDocument } from './document.ts';
import { guessIncremental, guessKey } from './guesses.ts';
import type { FoundList } from './list-response.ts';
import type { Operation } from './operations.ts';
import { guessPagination } from './pagination.ts';
import type { Params } from './params.ts';
import { type Parent, partitionsOf } from './partitions.ts';
import { type RecordShape, rulesOf } from './record.ts';
import { requiredValues } from './required-values.ts';
import type { Credentials } from './security.ts';
import type { ReadShape } from './shape.ts';

export interface ListOperation {
  readonly operation: Operation;
  readonly list: FoundList;
  readonly key: string;
}

export interface ConvertedResource {
  readonly resource: JsonObject;
  readonly params: readonly string[];
  readonly asParent: Parent;
  /** The key of the resource whose records are its partitions; `null` without one. */
  readonly parentKey: string | null;
}

interface Tools {
  readonly document: OpenapiDocument;
  readonly params: Params;
  readonly read: ReadShape;
  readonly readRecord: (item: unknown) => RecordShape;
  readonly parents: ReadonlyMap<string, Parent>;
  /** `null` for the credentials of the spec. */
  readonly credentials: Credentials | null;
}

/** Throws a {@link Refusal}. */
export function convertOperation({ operation, list, key }: ListOperation, tools: Tools): ConvertedResource {
  const { read, credentials } = tools;
  const record = tools.readRecord(list.item);
  tools.document.spend(record.shape.properties.size);
  const keyField = guessKey(operation.path, record, read);
  if (keyField === null) {
    throw new Refusal(
      'no field has the name of a key (id, uuid, <name>_id …): add the resource by hand with its `primaryKey`',
    );
  }
  const partitions = partitionsOf(operation, record.shape, tools);
  const pages = guessPagination({ operation, list, read, key: keyField });
  const changes = guessIncremental(operation, record, read);
  const given = new Set([
    ...Object.keys(pages.query),
    ...Object.keys(changes?.query ?? {}),
    positionOf(pages.pagination),
  ]);
  const required = requiredValues(operation, { params: tools.params, given });
  const added = Object.keys(partitions.addFields);
  const { schema, transform } = rulesOf(record, { added, ...tools });
  const primaryKey = [...added, keyField];
  const { mediaType } = operation.response;
  const notes = [
    `primary key ${primaryKey.join(', ')}`,
    `pagination ${String(pages.pagination['kind'])} (${pages.from})`,
    ...(changes === null ? [] : [`incremental (${changes.from})`]),
    ...(partitions.parent === null ? [] : [`one partition for each record of ${partitions.parent.key}`]),
  ];
  const resource = {
    key,
    ...(operation.summary === null ? {} : { name: oneLine(operation.summary, 200) }),
    description: `${operation.name}. Guessed from names, check before use: ${notes.join('; ')}.`,
    primaryKey,
    ...(credentials === null ? {} : { auth: credentials.auth }),
    ...(partitions.forEach === null ? {} : { forEach: [partitions.forEach] }),
    request: {
      path: partitions.path,
      ...present('query', { ...required.query, ...pages.query, ...changes?.query }),
      ...present('headers', { ...(mediaType === null ? {} : { Accept: mediaType }), ...required.headers }),
    },
    response: {
      records: list.records,
      ...(list.mayBeMissing ? { recordsMissing: 'empty' } : {}),
      ...(record.map === null ? {} : { map: record.map }),
      ...present('addFields', partitions.addFields),
    },
    pagination: pages.pagination,
    ...(changes === null ? {} : { incremental: changes.incremental }),
    ...(transform === null ? {} : { transform }),
    validate: { schema },
    onInvalid: 'quarantine',
  };
  return {
    resource,
    params: [...partitions.params, ...required.params, ...(credentials?.params ?? [])],
    asParent: { key, record: record.shape, keyField, values: partitions.values },
    parentKey: partitions.parent?.key ?? null,
  };
}

const present = (name: string, values: JsonObject): JsonObject =>
  Object.keys(values).length === 0 ? {} : { [name]: values };

function positionOf({ inject }: JsonObject): string {
  return typeof inject === 'object' && inject !== null && 'name' in inject ? String(inject.name) : '';
}

const oneLine = (text: string, lengthMax: number): string =>
  cutText(text.trim().split('\n')[0]?.trim() || 'List', lengthMax);
