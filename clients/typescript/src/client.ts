/**
 * Calls the service by method and path, as its API reference shows them. Each call is typed by its operation: path,
 * parameters, body and response.
 */
import { arrayElements } from './array-elements.ts';
import type {
  ElementOf,
  ListPath,
  Method,
  NameOf,
  OperationName,
  OptionsArgument,
  PathOf,
  ResponseOf,
} from './operations.ts';
import { assertServiceUrl, type ClientOptions, send } from './send.ts';

type Call<M extends Method> = <Path extends PathOf<M>>(
  path: Path,
  ...options: OptionsArgument<NameOf<M, Path>>
) => Promise<ResponseOf<NameOf<M, Path>>>;

/** The service, as one API key sees it. Every call throws `ApiError`, `NetworkError`, or the reason of its signal. */
export interface Client {
  readonly get: Call<'GET'>;
  readonly post: Call<'POST'>;
  readonly put: Call<'PUT'>;
  readonly patch: Call<'PATCH'>;
  readonly delete: Call<'DELETE'>;
  /** The elements of a list while they arrive, so that a long list needs little memory. */
  each<Path extends ListPath>(
    path: Path,
    ...options: OptionsArgument<NameOf<'GET', Path>>
  ): AsyncGenerator<ElementOf<Path>, void>;
  /** As the calls above, with the response itself, for its headers. */
  send<Name extends OperationName>(
    operation: Name,
    ...options: OptionsArgument<Name>
  ): Promise<{ readonly data: ResponseOf<Name>; readonly response: Response }>;
}

/** A client. It holds no connection and needs no end. Throws a `TypeError` if the URL is not one of a service. */
export function createClient(options: ClientOptions): Client {
  assertServiceUrl(options.url);
  const call =
    <M extends Method>(method: M): Call<M> =>
    (path, ...[parts]) =>
      send(options, `${method} ${path}`, parts ?? {}, readJson);
  return {
    get: call('GET'),
    post: call('POST'),
    put: call('PUT'),
    patch: call('PATCH'),
    delete: call('DELETE'),
    async *each(path, ...[parts]) {
      const body = await send(options, `GET ${path}`, parts ?? {}, async (response) => response.body);
      if (body) yield* arrayElements(body, parts?.signal);
    },
    send: (operation, ...[parts]) =>
      send(options, operation, parts ?? {}, async (response) => ({ data: await readJson(response), response })),
  };
}

/** Of whatever type the operation has: the service sends what its document says. */
const readJson = async (response: Response): Promise<never> => (await response.json()) as never;
