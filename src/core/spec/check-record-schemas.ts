import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import type { Issue } from '../errors.ts';
import { columnTypeHint, parseColumnType } from './column-type.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { isJsonObject } from './json.ts';
import { isColumnName } from './names.ts';

/** Every `validate.schema` is a JSON Schema that compiles, and its properties can be columns. */
export function checkRecordSchemas(document: unknown): readonly Issue[] {
  const [kind] = valuesAt(document, 'destination.kind');
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) =>
    valuesAt(value, 'validate.schema').flatMap((schema) => [
      ...schemaRule({ ...schema, path: `${path}.${schema.path}` }),
      ...(kind?.value === 'webhook' ? [] : columnRules(path, value)),
    ]),
  );
}

/** Characters of a record schema as JSON; compiling one of 160,000 characters took 17 s. */
const schemaLengthMax = 65_536;

// Never used to compile: ids inside a compiled schema would stay in it and reach the next document.
const ajv = formats.default(new Ajv({ strict: false, logger: false }));

function schemaRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value)) return [];
  if (JSON.stringify(value).length > schemaLengthMax) {
    return [fault(path, `the schema is longer than ${schemaLengthMax} characters`)];
  }
  if (value['$async'] !== undefined) return [fault(path, '`$async` is refused: records are judged at once')];
  const message = schemaFault(value);
  return message === null ? [] : [fault(path, `not a JSON Schema (draft 7): ${message}`)];
}

function schemaFault(schema: Readonly<Record<string, unknown>>): string | null {
  const { $schema = draft7 } = schema;
  if ($schema !== draft7 && $schema !== `${draft7}#`) return '`$schema` names another draft; remove it';
  if (ajv.validateSchema({ ...schema, $schema: draft7 }) !== true)
    return ajv.errorsText(ajv.errors, { dataVar: 'schema' });
  const dangling = referencesIn(schema).find((reference) => !resolves(schema, reference));
  return dangling === undefined ? null : `\`$ref\` ${dangling.slice(0, 100)} leads nowhere in this schema`;
}

const draft7 = 'http://json-schema.org/draft-07/schema';

/** Every `$ref`, also where the word is only data (in an `enum`, say): those must resolve too. */
function referencesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, child]) =>
    key === '$ref' && typeof child === 'string' ? [child] : referencesIn(child),
  );
}

/** A JSON pointer in a fragment (RFC 6901): nothing is fetched, so nothing else can resolve. */
function resolves(schema: unknown, reference: string): boolean {
  if (!/^#(\/|$)/.test(reference)) return false;
  let value: unknown = schema;
  for (const step of reference.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = Object.getOwnPropertyDescriptor(value, key)?.value;
  }
  return true;
}

/** Properties become columns unless `target.columns` takes them by another name. */
function columnRules(path: string, resource: unknown): readonly Issue[] {
  const properties = valuesAt(resource, 'validate.schema.properties').flatMap(({ value }) =>
    isJsonObject(value) ? Object.entries(value) : [],
  );
  const taken = new Map<string, string>();
  return properties.flatMap(([name, schema]) => {
    const at = `${path}.validate.schema.properties.${name}`;
    const twin = taken.get(name.toLowerCase());
    taken.set(name.toLowerCase(), name);
    return [
      ...(isColumnName(name) ? [] : [fault(at, 'no column can be called this: 1 to 63 letters, digits or `_`')]),
      ...(twin === undefined
        ? []
        : [{ ...fault(at, `differs from \`${twin}\` in case only`), code: 'duplicate_key' as const }]),
      ...typeRule(at, schema),
    ];
  });
}

function typeRule(at: string, schema: unknown): readonly Issue[] {
  const type = isJsonObject(schema) ? schema['x-type'] : undefined;
  if (type === undefined || (typeof type === 'string' && parseColumnType(type))) return [];
  return [fault(`${at}.x-type`, columnTypeHint)];
}

const fault = (path: string, message: string): Issue => ({ code: 'schema', path, message });
