import { cutText } from '../../json/cut-text.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { listOf, type OpenapiDocument, own, textOf } from './document.ts';

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  /** The schema of its value; in Swagger 2 the parameter itself. */
  readonly schema: JsonObject;
  readonly description: string | null;
}

/** One GET of the document, with additions from its path item and the document. */
export interface Operation {
  readonly path: string;
  /** The operation's id, or `GET /path`. */
  readonly name: string;
  readonly at: string;
  readonly summary: string | null;
  readonly parameters: readonly Parameter[];
  readonly response: JsonResponse;
  /** Alternatives; `undefined` if the document names none. */
  readonly security: unknown;
  /** The first of its servers; `undefined` if the document names none. */
  readonly server: unknown;
}

interface JsonResponse {
  /** `none` has no body; `unknown` is JSON without a schema; `foreign` has a schema, but is not JSON. */
  readonly kind: 'none' | 'unknown' | 'schema' | 'foreign';
  readonly schema: unknown;
  /** `null` for a common type, or if the document names none. */
  readonly mediaType: string | null;
  /** Names in lower case. */
  readonly headers: ReadonlySet<string>;
}

/** Most parameters of one list that are looked at. */
const parametersMax = 200;

export function operationsOf(document: OpenapiDocument): readonly Operation[] {
  const paths = own(document.root, 'paths');
  if (!isJsonObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, given]) => {
    document.spend(1);
    const item = document.objectOf(given);
    const get = own(item, 'get');
    return isJsonObject(get) ? [operationOf(document, { path, item, get })] : [];
  });
}

interface Place {
  readonly path: string;
  readonly item: JsonObject;
  readonly get: JsonObject;
}

function operationOf(document: OpenapiDocument, { path, item, get }: Place): Operation {
  const [server] = [get, item, document.root].map((part) => listOf(own(part, 'servers'))[0]).filter(Boolean);
  return {
    path,
    name: cutText(textOf(get, 'operationId') ?? `GET ${path}`, 200),
    at: `paths.${cutText(path, 200)}.get`,
    summary: textOf(get, 'summary') ?? textOf(get, 'description'),
    parameters: parametersOf(document, [own(item, 'parameters'), own(get, 'parameters')]),
    response: responseOf(document, get),
    security: own(get, 'security') ?? own(document.root, 'security'),
    server,
  };
}

/** Parameters of the operation replace those of its path. */
function parametersOf(document: OpenapiDocument, lists: readonly unknown[]): readonly Parameter[] {
  const found = new Map<string, Parameter>();
  for (const given of lists.flatMap((list) => listOf(list).slice(0, parametersMax))) {
    document.spend(1);
    const parameter = document.objectOf(given);
    const [name, place] = [textOf(parameter, 'name'), textOf(parameter, 'in')];
    if (name === null || place === null) continue;
    const [content] = Object.values(document.objectOf(own(parameter, 'content')));
    const schema = own(parameter, 'schema') ?? own(document.objectOf(content), 'schema');
    found.set(`${place} ${name}`, {
      name,
      in: place,
      required: own(parameter, 'required') === true,
      schema: document.dialect === 'swagger2' ? parameter : document.objectOf(schema),
      description: textOf(parameter, 'description'),
    });
  }
  return [...found.values()];
}

function responseOf(document: OpenapiDocument, get: JsonObject): JsonResponse {
  const responses = document.objectOf(own(get, 'responses'));
  const status = ['200', '2XX', '2xx', '201', '202', '203', '206', 'default'].find((name) =>
    Object.hasOwn(responses, name),
  );
  const response = document.objectOf(status === undefined ? undefined : responses[status]);
  const headers = new Set(Object.keys(document.objectOf(own(response, 'headers'))).map((name) => name.toLowerCase()));
  if (document.dialect === 'swagger2') return swaggerResponse(document, { get, response, headers });
  const contents = Object.entries(document.objectOf(own(response, 'content')));
  const json = contents.find(([type]) => isJsonType(type));
  if (json === undefined) {
    const schema = own(document.objectOf(contents[0]?.[1]), 'schema');
    return { kind: schema === undefined ? 'none' : 'foreign', schema, mediaType: null, headers };
  }
  const [mediaType, content] = json;
  return { ...described(own(document.objectOf(content), 'schema')), mediaType: ownType(mediaType), headers };
}

interface SwaggerPlace {
  readonly get: JsonObject;
  readonly response: JsonObject;
  readonly headers: ReadonlySet<string>;
}

/** Swagger 2 has its media types beside the responses. */
function swaggerResponse(document: OpenapiDocument, { get, response, headers }: SwaggerPlace): JsonResponse {
  const produces = listOf(own(get, 'produces') ?? own(document.root, 'produces')).map(String);
  const mediaType = produces.find(isJsonType);
  const schema = own(response, 'schema');
  // Without a schema a response of Swagger 2 has no body.
  if (schema === undefined) return { kind: 'none', schema, mediaType: null, headers };
  if (produces.length > 0 && mediaType === undefined) return { kind: 'foreign', schema, mediaType: null, headers };
  return { ...described(schema), mediaType: ownType(mediaType ?? null), headers };
}

const described = (schema: unknown): Pick<JsonResponse, 'kind' | 'schema'> => ({
  kind: isJsonObject(schema) && Object.keys(schema).length > 0 ? 'schema' : 'unknown',
  schema,
});

const isJsonType = (type: string): boolean => /^(application|text)\/([\w.+-]+\+)?json\b|^\*\/\*/i.test(type);

/** A vendor's media type, which a request must name; `null` for a common type. */
const ownType = (type: string | null): string | null =>
  type !== null && /^application\/[\w.+-]+\+json$/i.test(type) ? type : null;
