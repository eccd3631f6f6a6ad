import { isJsonObject } from '../../json/is-json-object.ts';
import { type EvaluationScope, scopes } from './expression-scopes.ts';

export interface ExpressionPlace {
  /** A pattern of `valuesAt`. */
  readonly at: string;
  /** `templates`: every string below is a template; `path`: a template in which triple braces are allowed. */
  readonly form: 'expression' | 'templates' | 'path';
  readonly scope: EvaluationScope;
}

/** Every place that may hold an expression: spec level first, in the order of the format. */
export function expressionPlaces(document: unknown): readonly ExpressionPlace[] {
  const { auth } = isJsonObject(document) ? document : {};
  return [
    ...authPlaces('auth', auth),
    path('http.baseUrl', scopes.request),
    templates('http.headers', scopes.request),
    templates('http.query', scopes.request),
    expression('http.errors.*.when.expr', scopes.response),
    ...lookupPlaces('lookups.*'),
    ...resourceList(document).flatMap(resourcePlaces),
    templates('destination', scopes.secret),
  ];
}

const expression = (at: string, scope: EvaluationScope): ExpressionPlace => ({ at, form: 'expression', scope });
const templates = (at: string, scope: EvaluationScope): ExpressionPlace => ({ at, form: 'templates', scope });
const path = (at: string, scope: EvaluationScope): ExpressionPlace => ({ at, form: 'path', scope });

function resourceList(document: unknown): readonly unknown[] {
  return isJsonObject(document) && Array.isArray(document['resources']) ? document['resources'] : [];
}

/** Expressions of an auth block; every other text in it is a template. */
const authExpressions = ['tokenFrom', 'expiresFrom'];

function authPlaces(at: string, auth: unknown): readonly ExpressionPlace[] {
  if (!isJsonObject(auth)) return [];
  const scope = auth['kind'] === 'hmac' ? scopes.signature : scopes.secret;
  return Object.keys(auth).map((key) =>
    authExpressions.includes(key) ? expression(`${at}.${key}`, scopes.loginResponse) : templates(`${at}.${key}`, scope),
  );
}

function requestPlaces(at: string, scope: EvaluationScope): readonly ExpressionPlace[] {
  return [
    path(`${at}.path`, scope),
    path(`${at}.url`, scope),
    templates(`${at}.query`, scope),
    templates(`${at}.headers`, scope),
    templates(`${at}.body`, scope),
  ];
}

const paginationPlaces = (at: string): readonly ExpressionPlace[] =>
  ['stopWhen', 'totalPages', 'total', 'next', 'shrink.when.expr'].map((key) =>
    expression(`${at}.${key}`, scopes.response),
  );

const lookupPlaces = (at: string): readonly ExpressionPlace[] => [
  ...requestPlaces(`${at}.request`, scopes.request),
  expression(`${at}.successWhen`, scopes.body),
  expression(`${at}.keyBy`, scopes.item),
  expression(`${at}.value`, scopes.item),
  ...paginationPlaces(`${at}.pagination`),
];

function resourcePlaces(resource: unknown, index: number): readonly ExpressionPlace[] {
  const at = `resources.${index}`;
  return [
    ...authPlaces(`${at}.auth`, isJsonObject(resource) ? resource['auth'] : null),
    ...['forEach.*', 'forEach.*.union.*'].flatMap((source) => [
      templates(`${at}.${source}.values`, scopes.partition),
      expression(`${at}.${source}.when`, scopes.item),
    ]),
    ...requestPlaces(`${at}.request`, scopes.read),
    ...['create', 'poll'].flatMap((request) => requestPlaces(`${at}.job.${request}`, scopes.read)),
    ...['id', 'status', 'emptyWhen', 'parts', 'values.*'].map((key) => expression(`${at}.job.${key}`, scopes.response)),
    ...['createErrors', 'pollErrors'].map((key) => expression(`${at}.job.${key}.*.when.expr`, scopes.response)),
    templates(`${at}.fieldChunks.fields`, scopes.partition),
    expression(`${at}.response.map`, scopes.item),
    expression(`${at}.response.addFields.*`, scopes.fields),
    expression(`${at}.response.successWhen`, scopes.body),
    expression(`${at}.response.total`, scopes.body),
    ...paginationPlaces(`${at}.pagination`),
    templates(`${at}.incremental.initial`, scopes.partition),
    expression(`${at}.incremental.next`, scopes.response),
    expression(`${at}.incremental.expired.expr`, scopes.response),
    expression(`${at}.errors.*.when.expr`, scopes.response),
    expression(`${at}.filter`, scopes.item),
    ...enrichPlaces(`${at}.enrich.*`),
    expression(`${at}.transform`, scopes.enriched),
    expression(`${at}.deletes.when`, scopes.item),
    ...requestPlaces(`${at}.deletes.request`, scopes.request),
    expression(`${at}.deletes.key`, scopes.item),
    expression(`${at}.deletes.at`, scopes.item),
    ...paginationPlaces(`${at}.deletes.pagination`),
    expression(`${at}.deletes.stopWhen`, scopes.response),
  ];
}

const enrichPlaces = (at: string): readonly ExpressionPlace[] => [
  expression(`${at}.key`, scopes.enrich),
  expression(`${at}.when`, scopes.enrich),
  ...requestPlaces(`${at}.request`, scopes.enrich),
  expression(`${at}.successWhen`, scopes.body),
  expression(`${at}.batch.results`, scopes.item),
  expression(`${at}.batch.keyBy`, scopes.item),
  expression(`${at}.select`, scopes.item),
];
