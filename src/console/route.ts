import * as v from 'valibot';
import type { OrgScope } from '../../db/scope.ts';
import type { MountDeps } from '../api/app.ts';
import type { Caller } from '../api/auth.ts';
import type { statusOf } from '../api/errors.ts';
import { checkParams, checkQuery, type Query } from '../api/inputs.ts';
import { invalid } from '../core/errors.ts';
import { issuesOf } from '../core/resources/issue-words.ts';
import type { FormFields } from './form-body.ts';
import type { Html } from './parts/html.ts';
import type { Session } from './session.ts';

export type ConsoleDeps = MountDeps;

/** In the order of the navigation. */
export const sections = [
  'overview',
  'connections',
  'runs',
  'quarantine',
  'endpoints',
  'deliveries',
  'catalogue',
  'specs',
  'hooks',
  'api-keys',
] as const;
export type Section = (typeof sections)[number];

/** The frame is added by `parts/frame.ts`. */
export interface View {
  readonly title: string;
  /** `null` for a page outside the navigation. */
  readonly section: Section | null;
  readonly body: Html;
  /** The nearest is last. */
  readonly trail?: readonly (readonly [label: string, href: string])[];
  /** Absent if the page does not refresh. */
  readonly refreshSeconds?: number;
  readonly status?: 200 | typeof statusOf.validation;
}

export interface Redirect {
  readonly to: string;
  /** A key of `parts/notices.ts`. */
  readonly notice?: string;
  /** A number that the notice names. */
  readonly count?: number;
}

/** For the script. */
interface Data {
  readonly json: unknown;
}

export type VisitOutcome = View | Redirect | Data;

type Schema = v.GenericSchema;
type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

export interface Visit {
  readonly scope: OrgScope;
  readonly caller: Caller;
  readonly session: Session;
  readonly requestId: string;
  /** Path and query. */
  readonly address: string;
}

interface RawVisit extends Visit {
  readonly pathParams: Readonly<Record<string, string>>;
  readonly queries: Query;
  /** Empty for a page. */
  readonly fields: FormFields;
}

export interface ConsoleRoute {
  readonly method: 'get' | 'post';
  /** Path below `/console`; parameters as `:name`. */
  readonly path: string;
  /** Throws `AppError` or `HttpRejection`. */
  prepare(this: void, visit: RawVisit): (deps: ConsoleDeps) => Promise<VisitOutcome>;
}

interface Declaration<P extends Schema | undefined, Q extends Schema | undefined, F extends Schema | undefined> {
  readonly path: string;
  /** An invalid parameter is a 404: its schema's message is the noun of the missing thing. */
  readonly params?: P;
  readonly query?: Q;
  readonly form?: F;
  readonly handle: (
    visit: Visit & { readonly params: Output<P>; readonly query: Output<Q>; readonly form: Output<F> },
    deps: ConsoleDeps,
  ) => Promise<VisitOutcome>;
}

export const page = <P extends Schema | undefined = undefined, Q extends Schema | undefined = undefined>(
  declaration: Omit<Declaration<P, Q, undefined>, 'form'>,
): ConsoleRoute => consoleRoute<P, Q, undefined>('get', declaration);

export const action = <
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  F extends Schema | undefined = undefined,
>(
  declaration: Declaration<P, Q, F>,
): ConsoleRoute => consoleRoute('post', declaration);

function consoleRoute<P extends Schema | undefined, Q extends Schema | undefined, F extends Schema | undefined>(
  method: ConsoleRoute['method'],
  { path, handle, ...schemas }: Declaration<P, Q, F>,
): ConsoleRoute {
  return {
    method,
    path,
    prepare({ pathParams, queries, fields, ...visit }) {
      const checked = {
        form: schemas.form && checkForm(schemas.form, fields),
        query: schemas.query && checkQuery(schemas.query, queries),
        params: schemas.params && checkParams(schemas.params, pathParams),
      };
      // The compiler cannot resolve the conditional types above; the preceding lines make them true.
      const input = { ...visit, ...checked } as Parameters<typeof handle>[0];
      return (deps) => handle(input, deps);
    },
  };
}

function checkForm<S extends Schema>(schema: S, fields: FormFields): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, fields);
  if (success) return output;
  throw invalid('Some fields are not filled in as they must be.', issuesOf(issues));
}
