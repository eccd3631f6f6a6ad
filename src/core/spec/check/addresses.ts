import { type Issue, schemaIssue } from '../../errors.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { withoutHoles } from '../../expressions/template-parts.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import { type Located, requestPaths, valuesAt } from './document-paths.ts';

const authUrls = ['tokenUrl', 'authorizeUrl', 'refreshUrl', 'revokeUrl', 'exchange.tokenUrl'];
const webUrls = [
  'http.baseUrl',
  ...authUrls.flatMap((name) => [`auth.${name}`, `resources.*.auth.${name}`]),
  ...requestPaths.map((request) => `${request}.url`),
];

export function checkAddresses(document: unknown, parse: ParseExpression): readonly Issue[] {
  const ofDestination = destinationKind(document).webUrls.map((name) => `destination.${name}`);
  return [...webUrls, ...ofDestination]
    .flatMap((at) => valuesAt(document, at))
    .flatMap((found) => addressRule(found, parse));
}

/** Checks the literal text before the first hole; values of holes are checked in each run. */
function addressRule({ path, value }: Located, parse: ParseExpression): readonly Issue[] {
  if (typeof value !== 'string') return [];
  const issue = (message: string): readonly Issue[] => [schemaIssue(path, message)];
  const [start = ''] = value.split('{{');
  const isHttp = (start === '' && value !== '') || /^https?:\/\/[^/]/i.test(value);
  if (!isHttp || /\s/.test(start)) return issue('expected an http or https URL, or a template that gives one');
  const literal = withoutHoles(value, parse);
  if (literal === null) return [];
  // The apparent host of such a URL is a user name: "http://127.0.0.1:80@other.example/".
  if (/^(https?:\/\/)?[^/?#\\]*@/i.test(literal)) {
    return issue('a URL must not carry a user name or password; put credentials under `auth`');
  }
  return literal === value && !URL.canParse(value) ? issue('expected a URL: its host or its port is not valid') : [];
}
