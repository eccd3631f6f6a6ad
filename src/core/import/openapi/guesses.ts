import type { JsonObject } from '../../json/json-object.ts';
import { own } from './document.ts';
import { literalsOf, plainName, singular } from './names.ts';
import type { Operation, Parameter } from './operations.ts';
import type { RecordShape } from './record.ts';
import type { ReadShape, Shape } from './shape.ts';

/** Names of keys in order of preference; the first are unique in most APIs. */
const keyNames = ['id', 'uuid', 'guid', 'uid', 'sid', 'gid'];
const weakKeyNames = ['key', 'slug', 'code', 'number', 'sha', 'hash'];

/** The field that identifies a record, as a path; `null` if no name suggests one. */
export function guessKey(path: string, { shape, byName }: RecordShape, read: ReadShape): string | null {
  const owners = literalsOf(path)
    .toReversed()
    .map((literal) => plainName(singular(literal)));
  const wanted = [
    ...keyNames,
    ...owners.flatMap((owner) => [`${owner}id`, `${owner}uuid`, `${owner}key`]),
    ...weakKeyNames,
  ];
  for (const plain of wanted) {
    const field = byName.get(plain);
    if (field !== undefined && isField(field.name) && isScalar(read(field.schema))) return field.name;
  }
  return read(shape.properties.get('metadata')).properties.has('uid') ? 'metadata.uid' : null;
}

const isScalar = ({ types }: Shape): boolean =>
  [...types].every((type) => ['string', 'integer', 'number'].includes(type));

const isField = (name: string): boolean => /^[A-Za-z_@#][A-Za-z0-9_@#:-]{0,99}$/.test(name);

export interface GuessedIncremental {
  readonly incremental: JsonObject;
  readonly query: JsonObject;
  readonly from: string;
}

/** Parameters that take the time of the last change; one for the time of creation would miss changes. */
const sinceParams = new Set([
  'since',
  'updatedsince',
  'modifiedsince',
  'changedsince',
  'updatedafter',
  'modifiedafter',
  'changedafter',
  'updatedfrom',
  'modifiedfrom',
  'updatedatmin',
  'updatedatfrom',
  'updatedatsince',
  'updatedatafter',
  'updatedatgte',
  'updatedatgt',
  'updatedgte',
  'modifiedatgte',
  'modifiedgte',
  'lastmodifiedsince',
  'lastmodifiedafter',
  'lastupdatedsince',
  'lastupdatedafter',
  'filterupdatedsince',
  'filterupdatedafter',
  'filterupdatedatgte',
  'minupdatedat',
  'minupdated',
  'ifmodifiedsince',
]);
const changeFields = [
  'updatedat',
  'updated',
  'updatedon',
  'updatedtime',
  'lastupdatedat',
  'lastupdated',
  'lastupdate',
  'modifiedat',
  'modified',
  'modifiedon',
  'lastmodifiedat',
  'lastmodified',
  'lastmodifieddate',
  'modifieddate',
  'datemodified',
  'updatedate',
  'dateupdated',
  'changedat',
];

/** `null` when no parameter and field belong together, so every run is a full read. */
export function guessIncremental(
  { parameters }: Operation,
  { byName }: RecordShape,
  read: ReadShape,
): GuessedIncremental | null {
  const since = parameters.find((one) => one.in === 'query' && sinceParams.has(plainName(one.name)));
  if (since === undefined) return null;
  const found = changeFields.map((plain) => byName.get(plain)).find((field) => field !== undefined);
  if (found === undefined || !isField(found.name)) return null;
  const type = timeType(read(found.schema));
  if (type === null) return null;
  const cursor = { field: found.name, type, ...sendAs(since, type) };
  return {
    incremental: { kind: 'cursor', cursor, order: 'none' },
    query: { [since.name]: '{{ window.from }}' },
    from: `${since.name} and ${found.name}`,
  };
}

/** Numbers may be seconds or milliseconds, so they are not guessed. */
function timeType({ types, format }: Shape): 'datetime' | 'date' | null {
  if (types.size !== 1 || !types.has('string')) return null;
  return format === 'date' ? 'date' : 'datetime';
}

function sendAs({ schema }: Parameter, type: 'datetime' | 'date'): JsonObject {
  if (own(schema, 'type') === 'integer') return { sendAs: 'epoch_s' };
  return type === 'datetime' && own(schema, 'format') === 'date' ? { sendAs: 'date' } : {};
}
