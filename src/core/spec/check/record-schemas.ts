import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { AppError, type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { isColumnName } from '../../json/property-names.ts';
import { compileValidator } from '../../json-schema/validate.ts';
import { columnTypeHint, parseColumnType } from '../schema/column-type.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import { type Located, valuesAt } from './document-paths.ts';

/** Checks that the engine can use every `validate.schema`, and that its properties can be columns. */
export function checkRecordSchemas(document: unknown): readonly Issue[] {
  const { keepsRows } = destinationKind(document);
  let compiledChars = 0;
  return valuesAt(document, 'resources.*').flatMap(({ path, value }) =>
    valuesAt(value, 'validate.schema').flatMap((schema) => {
      compiledChars += JSON.stringify(schema.value)?.length ?? 0;
      const located = { ...schema, path: `${path}.${schema.path}` };
      return [
        ...schemaRule(located, { compile: compiledChars <= compiledCharsMax }),
        ...(keepsRows ? columnRules(path, value) : []),
      ];
    }),
  );
}

/** Characters of JSON. */
const schemaLengthMax = 65_536;
/** Characters of schemas compiled per document, at 7 ms per thousand; a run compiles the rest. */
const compiledCharsMax = 32_768;

let ajv: Ajv | undefined;
/** Never compiles: ids inside a compiled schema would stay and reach the next document. */
const draftChecker = (): Ajv => (ajv ??= formats.default(new Ajv({ strict: false, logger: false })));

function schemaRule({ path, value }: Located, { compile }: { readonly compile: boolean }): readonly Issue[] {
  if (!isJsonObject(value)) return [];
  if (JSON.stringify(value).length > schemaLengthMax) {
    return [schemaIssue(path, `the schema is longer than ${schemaLengthMax} characters`)];
  }
  if (value['$async'] !== undefined)
    return [schemaIssue(path, '`$async` is not allowed: records are validated synchronously')];
  const message = draftIssue(value) ?? (compile ? compileIssue(value) : null);
  return message === null ? [] : [schemaIssue(path, message)];
}

function draftIssue(schema: Readonly<Record<string, unknown>>): string | null {
  const { $schema = draft7 } = schema;
  if ($schema !== draft7 && $schema !== `${draft7}#`) return '`$schema` names a draft other than 7; remove it';
  const checker = draftChecker();
  if (checker.validateSchema({ ...schema, $schema: draft7 }) === true) return null;
  return `not a JSON Schema (draft 7): ${checker.errorsText(checker.errors, { dataVar: 'schema' })}`;
}

/** Issues that only the engine's compiler finds: unresolved references, unsupported patterns, unknown keywords. */
function compileIssue(schema: Readonly<Record<string, unknown>>): string | null {
  try {
    compileValidator(schema);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

const draft7 = 'http://json-schema.org/draft-07/schema';

/** Properties become columns unless `target.columns` maps them to another name. */
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
      ...(isColumnName(name)
        ? []
        : [schemaIssue(at, 'not an allowed column name: expected 1 to 63 letters, digits or `_`')]),
      ...(twin === undefined
        ? []
        : [{ ...schemaIssue(at, `differs from \`${twin}\` in case only`), code: 'duplicate_key' as const }]),
      ...typeRule(at, schema),
    ];
  });
}

function typeRule(at: string, schema: unknown): readonly Issue[] {
  const type = isJsonObject(schema) ? schema['x-type'] : undefined;
  if (type === undefined || (typeof type === 'string' && parseColumnType(type))) return [];
  return [schemaIssue(`${at}.x-type`, columnTypeHint)];
}
