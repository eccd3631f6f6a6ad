import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { queriesAcrossOrgs } from '../test/support/security/queries-across-orgs.ts';
import { scopeMakers } from '../test/support/security/scope-makers.ts';

/** A function at the top of a file of queries, as its formatted text says it. */
interface QueryFunction {
  readonly name: string;
  readonly exported: boolean;
  readonly parameters: string;
  readonly body: string;
}

const folder = join(import.meta.dirname, 'queries');
const start =
  /^(?<exported>export )?(?:(?:async )?function\*? (?<declared>\w+)(?:<[^(]*>)?\(|const (?<assigned>\w+) = (?:async )?(?:<[^(]*>)?\((?=[\s\S]*?=>))/gm;

function functionsOf(text: string): readonly QueryFunction[] {
  return [...text.matchAll(start)].map((match) => {
    const from = match.index + match[0].length;
    const parametersEnd = closingOf(text, from);
    const { exported, declared, assigned } = match.groups ?? {};
    return {
      name: declared ?? assigned ?? '',
      exported: exported !== undefined,
      parameters: text.slice(from, parametersEnd),
      // A statement at the top of a formatted file goes on as long as lines are indented.
      body: /^[\s\S]*?\n(?=\S)(?:[})\]`].*\n)?|[\s\S]*/.exec(text.slice(parametersEnd))?.[0] ?? '',
    };
  });
}

/** Where the parenthesis that was opened before `from` is closed. */
function closingOf(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}

/** Whether a query takes its scope where all of them do. */
const takesScope = ({ parameters }: QueryFunction): boolean =>
  /^\s*(?:db|tx): Db,\s*(?:scope|\{[^}]*\}): OrgScope\b/.test(parameters);

/** Whether a function with a scope reads the org of it, or hands it on to another one, which is checked too. */
function usesScope({ parameters, body }: QueryFunction): boolean {
  const scope = /(?<name>\w+|\{[^}]*\}): OrgScope\b/.exec(parameters)?.groups?.['name'] ?? '';
  if (scope === 'scope') return /\bscope\.orgId\b|[(,]\s*scope\s*[,)]|= scope;/.test(body);
  return /\borgId\b/.test(scope) && /\borgId\b/.test(body);
}

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
const queries = files.flatMap((file) =>
  functionsOf(readFileSync(join(folder, file), 'utf8')).map((found) => ({
    ...found,
    name: `${file.slice(0, -3)}.${found.name}`,
  })),
);
const exportedQueries = queries.filter(
  ({ exported, parameters }) => exported && /^\s*(?:db|tx): Db\b/.test(parameters),
);

describe('the functions of db/queries', () => {
  it('are found', () => {
    expect(exportedQueries.length).toBeGreaterThan(120);
  });

  it('take an OrgScope right after db, unless they are listed as across orgs', () => {
    const failing = exportedQueries.filter((query) => !queriesAcrossOrgs.has(query.name) && !takesScope(query));
    expect(failing.map(({ name }) => name)).toEqual([]);
  });

  it('are what others call: a statement on its own takes no scope', () => {
    const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'));
    expect(texts.filter((text) => text.includes('= statement('))).not.toHaveLength(0);
    expect(texts.filter((text) => /^export const \w+ = statement\(/m.test(text))).toEqual([]);
  });

  it('use their scope, and so do the functions they share', () => {
    const scoped = queries.filter(({ parameters }) => parameters.includes('OrgScope'));
    expect(scoped.length).toBeGreaterThan(exportedQueries.length - queriesAcrossOrgs.size);
    expect(scoped.filter((query) => !usesScope(query)).map(({ name }) => name)).toEqual([]);
  });

  it('are listed as across orgs only where they exist and have no scope', () => {
    const without = exportedQueries.filter(({ parameters }) => !parameters.includes('OrgScope'));
    expect(without.map(({ name }) => name).toSorted()).toEqual([...queriesAcrossOrgs.keys()].toSorted());
  });
});

describe('an OrgScope', () => {
  const root = join(import.meta.dirname, '..');
  const sources = globSync('{activities,db,src,workflows}/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/\.test\.ts$|-fixture\.ts$/.test(file))
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

  it('is made only by the listed files, each with its reason', () => {
    const makers = sources.filter(({ file, text }) => file !== 'db/scope.ts' && /\borgScope\b/.test(text));
    expect(makers.map(({ file }) => file).toSorted()).toEqual([...scopeMakers.keys()].toSorted());
  });

  it('is never asserted from another value, except where scopes are made', () => {
    const asserting = sources.filter(({ text }) => /\bas (?:unknown as )?OrgScope\b/.test(text));
    expect(asserting.map(({ file }) => file)).toEqual(['db/scope.ts']);
  });
});

describe('the test above', () => {
  it('finds a query without a scope', () => {
    const [query] = functionsOf('export function f(db: Db, id: string) {\n  return read(db, id);\n}\n');
    expect(query && takesScope(query)).toBe(false);
  });

  it.each([
    'export function f(db: Db, scope: OrgScope, id: string) {\n  return read(db, id);\n}\n',
    'export const f = (db: Db, { orgId }: OrgScope) =>\n  read(db);\n',
    'const f = ({ other }: OrgScope) =>\n  read(other);\n',
  ])('finds one that forgets its org: %s', (text) => {
    expect(functionsOf(text).map(usesScope)).toEqual([false]);
  });

  it('is content with one that uses it', () => {
    const text = 'export function f(db: Db, scope: OrgScope) {\n  return read(db, scope);\n}\n';
    expect(functionsOf(text).map((query) => takesScope(query) && usesScope(query))).toEqual([true]);
  });
});
