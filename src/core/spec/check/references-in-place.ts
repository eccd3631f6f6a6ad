import type { Issue, IssueCode } from '../../errors.ts';
import { jsonataFunctions, refusedFunctions } from '../../expressions/jsonata-functions.ts';
import type { Reference } from '../../expressions/references.ts';
import type { DeclaredNames, ResourceNames } from './declared-names.ts';
import type { Sight } from './expression-scopes.ts';

/** Where an expression stands and what is declared around it. */
export interface Surroundings {
  readonly path: string;
  readonly sight: Sight;
  readonly names: DeclaredNames;
  /** The resource that holds the expression; null at spec level. */
  readonly resource: ResourceNames | null;
}

/** Judges one name that an expression takes from outside; null when it may. */
export function referenceIssue(reference: Reference, around: Surroundings): Issue | null {
  const fault = reference.kind === 'variable' ? variableFault(reference, around) : fieldFault(reference, around);
  return fault && { code: fault.code, path: around.path, message: fault.message };
}

interface Fault {
  readonly code: IssueCode;
  readonly message: string;
}

const refused = (message: string): Fault => ({ code: 'schema', message });
const unresolved = (message: string): Fault => ({ code: 'unresolved_dependency', message });

function variableFault(reference: Reference, around: Surroundings): Fault | null {
  const { name } = reference;
  if (around.sight.variables.has(name)) return memberFault(reference, around);
  if (jsonataFunctions.has(name)) return null;
  if (refusedFunctions.has(name)) {
    return refused(`\`$${name}\` is refused: the same records must always give the same result`);
  }
  if (name === 'secrets') return secretsRefused;
  if (around.sight.roots.has(name)) return refused(`write \`${name}\` without \`$\` here`);
  if (around.sight.variables.has('lookups') && visibleLookups(around).has(name)) return null;
  return unresolved(`\`$${name}\` is not defined here`);
}

function fieldFault(reference: Reference, around: Surroundings): Fault | null {
  const { name } = reference;
  const members = around.sight.roots.get(name);
  if (members === undefined) return around.sight.open ? null : unknownRoot(name, around);
  if (members !== null && reference.member !== null && !members.includes(reference.member)) {
    return refused(`\`${name}.${reference.member}\` does not exist; available: ${listed(members, `${name}.`)}`);
  }
  return memberFault(reference, around);
}

const secretsRefused = refused('`secrets` may be used only under `auth` and `destination`');

function unknownRoot(name: string, around: Surroundings): Fault {
  if (name === 'secrets') return secretsRefused;
  if (name === 'each') return unresolved('`each` is not bound here; declare it in the `forEach` of a resource');
  return refused(`\`${name}\` is not available here; available: ${listed(around.sight.roots.keys())}`);
}

function memberFault({ name, member }: Reference, around: Surroundings): Fault | null {
  if (member === null) return null;
  switch (name) {
    case 'params':
      return paramFault(member, around.names);
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

function paramFault(key: string, names: DeclaredNames): Fault | null {
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

/** Settings of `http` serve every resource: what any of them binds may be used, and is missing elsewhere. */
function eachNames({ path, resource, names }: Surroundings): ReadonlySet<string> {
  if (resource) return resource.each;
  return path.startsWith('http.') ? new Set(names.resources.flatMap(({ each }) => [...each])) : new Set();
}

function visibleLookups({ sight, names, resource }: Surroundings): ReadonlySet<string> {
  return sight.lookups === 'enriched' && resource ? new Set([...names.tables, ...resource.enrichments]) : names.tables;
}

const listed = (names: Iterable<string>, prefix = ''): string =>
  [...names].map((name) => `\`${prefix}${name}\``).join(', ');
