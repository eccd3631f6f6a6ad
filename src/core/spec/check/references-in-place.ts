import type { Issue, IssueCode } from '../../errors.ts';
import { knownFunctions, refusedFunctions } from '../../expressions/jsonata-functions.ts';
import type { Reference } from '../../expressions/references.ts';
import type { DeclaredNames, ResourceNames } from './declared-names.ts';
import type { EvaluationScope } from './expression-scopes.ts';

export interface Surroundings {
  readonly path: string;
  readonly scope: EvaluationScope;
  readonly names: DeclaredNames;
  /** The resource that holds the expression; `null` at spec level. */
  readonly resource: ResourceNames | null;
}

/** The issue of a name that an expression takes from outside; `null` if it is allowed. */
export function referenceIssue(reference: Reference, around: Surroundings): Issue | null {
  const issue = reference.kind === 'variable' ? variableIssue(reference, around) : fieldIssue(reference, around);
  return issue && { code: issue.code, path: around.path, message: issue.message };
}

interface FaultIssue {
  readonly code: IssueCode;
  readonly message: string;
}

const refused = (message: string): FaultIssue => ({ code: 'schema', message });
const unresolved = (message: string): FaultIssue => ({ code: 'unresolved_dependency', message });

function variableIssue(reference: Reference, around: Surroundings): FaultIssue | null {
  const { name } = reference;
  if (around.scope.variables.has(name)) return memberIssue(reference, around);
  if (knownFunctions.has(name)) return null;
  if (refusedFunctions.has(name)) {
    return refused(`\`$${name}\` is not allowed: the same records must always produce the same result`);
  }
  if (name === 'secrets') return secretsRefused;
  if (around.scope.roots.has(name)) return refused(`write \`${name}\` without \`$\` here`);
  if (around.scope.variables.has('lookups') && visibleLookups(around).has(name)) return null;
  return unresolved(`\`$${name}\` is not defined here`);
}

function fieldIssue(reference: Reference, around: Surroundings): FaultIssue | null {
  const { name } = reference;
  const members = around.scope.roots.get(name);
  if (members === undefined) return around.scope.open ? null : unknownRoot(name, around);
  if (members !== null && reference.member !== null && !members.includes(reference.member)) {
    return refused(`\`${name}.${reference.member}\` does not exist; available: ${listed(members, `${name}.`)}`);
  }
  return memberIssue(reference, around);
}

const secretsRefused = refused('`secrets` may be used only under `auth` and `destination`');

function unknownRoot(name: string, around: Surroundings): FaultIssue {
  if (name === 'secrets') return secretsRefused;
  if (name === 'each') return unresolved('`each` is not bound here; declare it in the `forEach` of a resource');
  return refused(`\`${name}\` is not available here; available: ${listed(around.scope.roots.keys())}`);
}

function memberIssue({ name, member }: Reference, around: Surroundings): FaultIssue | null {
  if (member === null) return null;
  switch (name) {
    case 'params':
      return paramIssue(member, around.names);
    case 'secrets':
      return around.names.secrets.has(member) ? null : unresolved(secretMissing(member, around.names));
    case 'lookups':
      return visibleLookups(around).has(member) ? null : unresolved(lookupMissing(member, around));
    case 'each':
      return eachNames(around).has(member) ? null : unresolved(`\`each.${member}\` is not bound by a \`forEach\``);
    default:
      return null;
  }
}

function paramIssue(key: string, names: DeclaredNames): FaultIssue | null {
  if (names.params.has(key)) return null;
  if (names.secrets.has(key)) {
    return refused(`\`${key}\` is secret: read it as \`secrets.${key}\`, under \`auth\` or \`destination\` only`);
  }
  return unresolved(`the param \`${key}\` is not declared in \`connectionParams\``);
}

const secretMissing = (key: string, names: DeclaredNames): string =>
  names.params.has(key)
    ? `\`${key}\` is not secret: read it as \`params.${key}\`, or declare it with \`"secret": true\``
    : `the secret \`${key}\` is not declared in \`connectionParams\``;

function lookupMissing(name: string, { resource }: Surroundings): string {
  return resource?.enrichments.has(name) === true
    ? `the enrichment \`${name}\` is known only to later enrichments and to \`transform\``
    : `no lookup or enrichment has \`"assignTo": "${name}"\``;
}

/** Settings of `http` serve every resource: a name bound by any of them may be used, and is missing in the others. */
function eachNames({ path, resource, names }: Surroundings): ReadonlySet<string> {
  if (resource) return resource.each;
  return path.startsWith('http.') ? new Set(names.resources.flatMap(({ each }) => [...each])) : new Set();
}

function visibleLookups({ scope, names, resource }: Surroundings): ReadonlySet<string> {
  return scope.lookups === 'enriched' && resource ? new Set([...names.tables, ...resource.enrichments]) : names.tables;
}

const listed = (names: Iterable<string>, prefix = ''): string =>
  [...names].map((name) => `\`${prefix}${name}\``).join(', ');
