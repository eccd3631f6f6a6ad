import { cutText } from '../../json/cut-text.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { Refusal } from '../refusal.ts';
import { listOf, type OpenapiDocument, own, textOf } from './document.ts';
import type { Operation } from './operations.ts';
import type { Params } from './params.ts';

export interface Server {
  readonly baseUrl: string;
  readonly params: readonly string[];
}

/** Throws a {@link Refusal}. */
export type ReadServer = (operation: Pick<Operation, 'server'>) => Server;

export function createServers(document: OpenapiDocument, params: Params): ReadServer {
  const known = new Map<string, Server>();
  return ({ server }) => {
    const given = document.dialect === 'swagger2' ? swaggerServer(document.root) : document.objectOf(server);
    const url = textOf(given, 'url') ?? '/';
    const before = known.get(url);
    if (before !== undefined) return before;
    const read = serverOf({ url, variables: document.objectOf(own(given, 'variables')) }, { document, params });
    known.set(url, read);
    return read;
  };
}

/** Swagger 2 writes an address in three parts. */
function swaggerServer(root: JsonObject): JsonObject {
  const schemes = listOf(own(root, 'schemes')).map(String);
  const [host, path] = [textOf(root, 'host'), textOf(root, 'basePath') ?? ''];
  const scheme = schemes.includes('http') && !schemes.includes('https') ? 'http' : 'https';
  return { url: host === null ? path : `${scheme}://${host}${path}` };
}

interface Written {
  readonly url: string;
  readonly variables: JsonObject;
}

function serverOf(
  { url, variables }: Written,
  { document, params }: { readonly document: OpenapiDocument; readonly params: Params },
): Server {
  if (url.length > 2000 || /\{\{|\}\}|[\s?#\\]/.test(url)) throw new Refusal(unusable, 'servers');
  const used: string[] = [];
  const withParam = (key: string): string => {
    used.push(key);
    return `{{ params.${key} }}`;
  };
  const address = url
    .replaceAll(/\{([^{}]*)\}/g, (_, name: string) =>
      withParam(params.add(`variable ${name}`, name, variableParam(document.objectOf(own(variables, name))))),
    )
    .replace(/\/+$/, '');
  if (/^(https?:\/\/[^/]|\{\{)/i.test(address)) return { baseUrl: address, params: used };
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(address)) throw new Refusal(unusable, 'servers');
  // The document names no host, so the host is wherever the document was published.
  const host = withParam(params.add('server', 'serverUrl', serverParam));
  const path = address.replace(/^\/+/, '');
  return { baseUrl: path === '' ? host : `${host}/${path}`, params: used };
}

const unusable = 'the address of its server is no http or https URL';

const serverParam: JsonObject = {
  type: 'url',
  label: 'Server',
  description: 'The address of the API, such as https://api.acme.example; the document names none.',
};

function variableParam(variable: JsonObject): JsonObject {
  const [value, description] = [own(variable, 'default'), textOf(variable, 'description')];
  const options = listOf(own(variable, 'enum'))
    .filter((option): option is string => typeof option === 'string')
    .slice(0, 1000);
  const isOption = options.length === 0 || options.some((option) => option === value);
  return {
    type: 'string',
    ...(description === null ? {} : { description: cutText(description, 500) }),
    ...(typeof value === 'string' && value !== '' && isOption ? { required: false, default: value } : {}),
    ...(options.length === 0 ? {} : { enum: [...new Set(options)] }),
  };
}
