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

/** What pages and actions need. */
export type ConsoleDeps = MountDeps;

/** The sections of the console, as its navigation lists them. */
export const sections = [
  'overview',
  'connections',
  'runs',
  'quarantine',
  'endpoints',
  'deliveries',
  'specs',
  'hooks',
  'api-keys',
] as const;
/** One section of the console. */
export type Section = (typeof sections)[number];

/** A page as a handler makes it; the frame around it is added by `parts/frame.ts`. */
export interface View {
  readonly title: string;
  /** The section that the page belongs to; null: none. */
  readonly section: Section | null;
  readonly body: Html;
  /** Pages above it, the nearest last. */
  readonly trail?: readonly (readonly [label: string, href: string])[];
  /** The seconds after which the script asks for the page again, since it changes by itself. Absent: it does not. */
  readonly refreshSeconds?: number;
  /** 200 unless given. */
  readonly status?: 200 | typeof statusOf.validation;
}

/** The page to show after an action, and what to say there. */
interface Redirect {
  readonly to: string;
  /** The name of a notice of `parts/notices.ts`; absent: none. */
  readonly notice?: string;
}

/** A document for the script. */
interface Data {
  readonly json: unknown;
}

/** What a handler makes of a visit: a page, the way to one, or a document for the script. */
export type VisitOutcome = View | Redirect | Data;

type Schema = v.GenericSchema;
type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : undefined;

/** Who asks, and what every page needs of the request. */
export interface Visit {
  readonly scope: OrgScope;
  readonly caller: Caller;
  readonly session: Session;
  /** Path and query of the request. */
  readonly address: string;
}

/** A request before its checks. */
interface RawVisit extends Visit {
  readonly pathParams: Readonly<Record<string, string>>;
  readonly queries: Query;
  /** Empty for a page. */
  readonly fields: FormFields;
}

/** One page or action as the router and the tests see it. */
export interface ConsoleRoute {
  readonly method: 'get' | 'post';
  /** The path below `/console`; parameters as `:name`. */
  readonly path: string;
  /** Checks the request; returns the function that does the work. Throws `AppError` or `HttpRejection`. */
  prepare(this: void, visit: RawVisit): (deps: ConsoleDeps) => Promise<VisitOutcome>;
}

interface Declaration<P extends Schema | undefined, Q extends Schema | undefined, F extends Schema | undefined> {
  readonly path: string;
  /** A parameter that fails is a 404: its schema's message is the noun of what is not found. */
  readonly params?: P;
  readonly query?: Q;
  readonly form?: F;
  readonly handle: (
    visit: Visit & { readonly params: Output<P>; readonly query: Output<Q>; readonly form: Output<F> },
    deps: ConsoleDeps,
  ) => Promise<VisitOutcome>;
}

/** Declares a page. */
export const page = <P extends Schema | undefined = undefined, Q extends Schema | undefined = undefined>(
  declaration: Omit<Declaration<P, Q, undefined>, 'form'>,
): ConsoleRoute => consoleRoute<P, Q, undefined>('get', declaration);

/** Declares what a form does. */
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
