import { isJsonObject } from '../../json/json-value.ts';
import { type Sight, sights } from './expression-scopes.ts';

/** Where a document has expressions, and what they see there. */
export interface ExpressionPlace {
  /** Pattern of `valuesAt`. */
  readonly at: string;
  /** `templates`: every string below is a template. `path`: a template in which triple braces are allowed. */
  readonly form: 'expression' | 'templates' | 'path';
  readonly sight: Sight;
}

/** Every place of a document that may hold an expression, spec level first, in the order of the format. */
export function expressionPlaces(document: unknown): readonly ExpressionPlace[] {
  const { auth } = isJsonObject(document) ? document : {};
  return [
    ...authPlaces('auth', auth),
    path('http.baseUrl', sights.request),
    templates('http.headers', sights.request),
    templates('http.query', sights.request),
    expression('http.errors.*.when.expr', sights.response),
    ...lookupPlaces('lookups.*'),
    ...resourceList(document).flatMap(resourcePlaces),
    templates('destination', sights.secret),
  ];
}

const expression = (at: string, sight: Sight): ExpressionPlace => ({ at, form: 'expression', sight });
const templates = (at: string, sight: Sight): ExpressionPlace => ({ at, form: 'templates', sight });
const path = (at: string, sight: Sight): ExpressionPlace => ({ at, form: 'path', sight });

function resourceList(document: unknown): readonly unknown[] {
  return isJsonObject(document) && Array.isArray(document['resources']) ? document['resources'] : [];
}

/** Only these properties of an auth block are expressions; every other text in it is a template. */
const authExpressions = ['tokenFrom', 'expiresFrom'];

function authPlaces(at: string, auth: unknown): readonly ExpressionPlace[] {
  if (!isJsonObject(auth)) return [];
  const sight = auth['kind'] === 'hmac' ? sights.signature : sights.secret;
  return Object.keys(auth).map((key) =>
    authExpressions.includes(key) ? expression(`${at}.${key}`, sights.answer) : templates(`${at}.${key}`, sight),
  );
}

function requestPlaces(at: string, sight: Sight): readonly ExpressionPlace[] {
  return [
    path(`${at}.path`, sight),
    path(`${at}.url`, sight),
    templates(`${at}.query`, sight),
    templates(`${at}.headers`, sight),
    templates(`${at}.body`, sight),
  ];
}

const paginationPlaces = (at: string): readonly ExpressionPlace[] =>
  ['stopWhen', 'totalPages', 'total', 'next'].map((key) => expression(`${at}.${key}`, sights.response));

const lookupPlaces = (at: string): readonly ExpressionPlace[] => [
  ...requestPlaces(`${at}.request`, sights.request),
  expression(`${at}.keyBy`, sights.item),
  expression(`${at}.value`, sights.item),
  ...paginationPlaces(`${at}.pagination`),
];

function resourcePlaces(resource: unknown, index: number): readonly ExpressionPlace[] {
  const at = `resources.${index}`;
  return [
    ...authPlaces(`${at}.auth`, isJsonObject(resource) ? resource['auth'] : null),
    templates(`${at}.forEach.*.values`, sights.partition),
    expression(`${at}.forEach.*.when`, sights.item),
    ...requestPlaces(`${at}.request`, sights.request),
    expression(`${at}.response.map`, sights.item),
    expression(`${at}.response.addFields.*`, sights.fields),
    expression(`${at}.response.successWhen`, sights.body),
    expression(`${at}.response.total`, sights.body),
    ...paginationPlaces(`${at}.pagination`),
    templates(`${at}.incremental.initial`, sights.partition),
    expression(`${at}.incremental.next`, sights.response),
    expression(`${at}.incremental.expired.expr`, sights.response),
    expression(`${at}.errors.*.when.expr`, sights.response),
    expression(`${at}.filter`, sights.item),
    ...enrichPlaces(`${at}.enrich.*`),
    expression(`${at}.transform`, sights.enriched),
    expression(`${at}.deletes.when`, sights.item),
    ...requestPlaces(`${at}.deletes.request`, sights.request),
    expression(`${at}.deletes.key`, sights.item),
    ...paginationPlaces(`${at}.deletes.pagination`),
    expression(`${at}.deletes.stopWhen`, sights.response),
  ];
}

const enrichPlaces = (at: string): readonly ExpressionPlace[] => [
  expression(`${at}.key`, sights.enrich),
  expression(`${at}.when`, sights.enrich),
  ...requestPlaces(`${at}.request`, sights.enrich),
  expression(`${at}.batch.results`, sights.item),
  expression(`${at}.batch.keyBy`, sights.item),
  expression(`${at}.select`, sights.item),
];
