import { type Issue, schemaIssue } from '../../errors.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { withoutHoles } from '../../expressions/template-parts.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { type Located, requestPaths, valuesAt } from './document-paths.ts';

export function checkRequests(document: unknown, parse: ParseExpression): readonly Issue[] {
  const requests = requestPaths.flatMap((at) => valuesAt(document, at));
  return [
    ...baseUrlRules(document, requests),
    ...requests.flatMap((request) => requestRules(request, parse)),
    ...errorPaths.flatMap((at) => valuesAt(document, at).flatMap(errorRule)),
  ];
}

const errorPaths = [
  'http.errors.*',
  'resources.*.errors.*',
  'resources.*.job.createErrors.*',
  'resources.*.job.pollErrors.*',
];

function baseUrlRules(document: unknown, requests: readonly Located[]): readonly Issue[] {
  if (valuesAt(document, 'http.baseUrl').length > 0) return [];
  const relative = requests.some(({ value }) => isJsonObject(value) && value['url'] === undefined);
  return relative ? [schemaIssue('http.baseUrl', '`baseUrl` is required unless every request has its own `url`')] : [];
}

function requestRules({ path, value }: Located, parse: ParseExpression): readonly Issue[] {
  if (!isJsonObject(value)) return [];
  const { path: requestPath, url, body, method } = value;
  const issues: Issue[] = [];
  if (requestPath !== undefined && url !== undefined)
    issues.push(schemaIssue(`${path}.url`, 'expected `path` or `url`, not both'));
  if (requestPath === undefined && url === undefined)
    issues.push(schemaIssue(`${path}.path`, '`path` or `url` is required'));
  if (typeof requestPath === 'string') issues.push(...pathRule(`${path}.path`, withoutHoles(requestPath, parse)));
  if (body !== undefined && method !== 'POST')
    issues.push(schemaIssue(`${path}.body`, 'a body needs `"method": "POST"`'));
  if (isJsonObject(body) && bodyKinds(body).length !== 1) {
    issues.push(schemaIssue(`${path}.body`, 'expected exactly one of `json`, `form`, `text` and `graphql`'));
  }
  return issues;
}

const bodyKinds = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  ['json', 'form', 'text', 'graphql'].filter((kind) => body[kind] !== undefined);

/** A hole counts as one harmless segment: its value is encoded, or checked on insertion. */
function pathRule(path: string, literal: string | null): readonly Issue[] {
  if (literal === null) return [];
  const segments = literal.replaceAll('%2e', '.').replaceAll('%2E', '.').split('/');
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    return [schemaIssue(path, 'dot segments are not allowed: write the path out')];
  }
  return /^\/\/|\\|[?#]/.test(literal)
    ? [schemaIssue(path, 'expected a path alone: no host, `\\`, `?` or `#`; use `query`')]
    : [];
}

function errorRule({ path, value }: Located): readonly Issue[] {
  if (!isJsonObject(value) || !isJsonObject(value['when'])) return [];
  const { status, expr } = value['when'];
  return status === undefined && expr === undefined
    ? [schemaIssue(`${path}.when`, 'expected at least one of `status` and `expr`')]
    : [];
}
