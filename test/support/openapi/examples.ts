/** The requests that the OpenAPI document shows, as a reader copies them. */

/** An operation of the document, as far as a request is made of it. */
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly schema?: { readonly examples?: readonly string[] };
}

/** A request of the document; ids and addresses in it are made up. */
export interface ShownRequest {
  /** For example `POST /specs`, with the content type behind it when the operation takes several. */
  readonly name: string;
  readonly method: string;
  /** Behind the base of the interface, with its query. */
  readonly path: string;
  /** Null: it has none. */
  readonly body: { readonly type: string; readonly text: string } | null;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Every request of the paths of a document but the exempt ones. Throws where a parameter or a body has no example. */
export const shownRequests = (
  paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  exempt: readonly string[],
): ShownRequest[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method] as Operation | undefined;
      const isShown = operation !== undefined && !exempt.includes(`${method.toUpperCase()} ${path}`);
      return isShown ? requestsOf(method.toUpperCase(), path, operation) : [];
    }),
  );

function requestsOf(method: string, path: string, { parameters = [], requestBody }: Operation): ShownRequest[] {
  const name = `${method} ${path}`;
  const valueOf = (parameter: Parameter): string => {
    const [example] = parameter.schema?.examples ?? [];
    if (example === undefined) throw new Error(`${name}: the parameter ${parameter.name} has no example`);
    return encodeURIComponent(example);
  };
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const query = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const filled = inPath.reduce((text, parameter) => text.replace(`{${parameter.name}}`, valueOf(parameter)), path);
  const search = query.map((parameter) => `${parameter.name}=${valueOf(parameter)}`).join('&');
  const address = { method, path: search === '' ? filled : `${filled}?${search}` };
  if (requestBody === undefined) return [{ name, ...address, body: null }];
  const types = Object.entries(requestBody.content);
  return types.map(([type, { example }]) => {
    if (example === undefined) throw new Error(`${name}: the body has no example as ${type}`);
    const text = typeof example === 'string' ? example : JSON.stringify(example);
    return { name: types.length > 1 ? `${name} ${type}` : name, ...address, body: { type, text } };
  });
}
