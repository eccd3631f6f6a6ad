import type { Operations } from './api.gen.ts';

/** An operation of the service, such as `GET /runs/{id}`. */
export type OperationName = keyof Operations;

/** A method of HTTP that some operation has. */
export type Method = OperationName extends `${infer Name} ${string}` ? Name : never;

/** The paths that have this method. */
export type PathOf<M extends Method> = OperationName extends infer Name
  ? Name extends `${M} ${infer Path}`
    ? Path
    : never
  : never;

/** The operation of a method and a path. */
export type NameOf<M extends Method, Path extends string> = Extract<OperationName, `${M} ${Path}`>;

/** What an operation responds with. */
export type ResponseOf<Name extends OperationName> = Operations[Name]['response'];

/** The paths whose response is a list. */
export type ListPath = {
  [Name in OperationName]: Name extends `GET ${infer Path}`
    ? ResponseOf<Name> extends readonly unknown[]
      ? Path
      : never
    : never;
}[OperationName];

/** One element of a list. */
export type ElementOf<Path extends ListPath> =
  ResponseOf<NameOf<'GET', Path>> extends readonly (infer Element)[] ? Element : never;

/** What a request takes beside the parts that its operation has. */
export interface RequestOptions {
  /** Ends the request, its waits and its retries. */
  readonly signal?: AbortSignal;
  /**
   * Makes the request safe to repeat, also by another process: the same key and body give the same response for 24
   * hours. Without it the client makes one for each call that creates something.
   */
  readonly idempotencyKey?: string;
  /** Appears in the service's log and in the response. */
  readonly requestId?: string;
}

type Parts<Name extends OperationName> = Omit<Operations[Name], 'response'>;

/** The options of an operation: its `params` (of the path), `query` and `body`, as far as it has them. */
export type OptionsOf<Name extends OperationName> = Parts<Name> & RequestOptions;

/** The options as the last argument, which may be absent if nothing in it is required. */
export type OptionsArgument<Name extends OperationName> =
  Partial<Parts<Name>> extends Parts<Name> ? [options?: OptionsOf<Name>] : [options: OptionsOf<Name>];
