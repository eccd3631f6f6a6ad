import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compile } from '../../src/core/expressions/compiled/compile.ts';
import { withCompiledExpressions } from '../../src/core/expressions/compiled-evaluator.ts';
import { createEvaluatorPool } from '../../src/core/expressions/evaluator-pool.ts';
import { type ExpressionPlace, expressionPlaces } from '../../src/core/spec/check/expression-places.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/connectors/expressions.md'), 'utf8');
const children = createEvaluatorPool({ size: 1 });
const evaluator = withCompiledExpressions(children).forOrg('org_a');
afterAll(() => children[Symbol.asyncDispose]());

/** Rows of a table whose cells are code. */
const examples = [
  ...page.matchAll(
    /^\| `(?<expression>.+?)` \| `(?<record>\{.*?\})` \| (?<result>.+?) \| (?<engine>compiled|JSONata) \|/gm,
  ),
].map(({ groups }) => ({ expression: '', record: '{}', result: '', engine: '', ...groups }));

describe('the page about expressions', () => {
  it('has examples of at least ten surprises', () => {
    expect(examples.length).toBeGreaterThanOrEqual(20);
  });

  it.each(examples)('tells the result of $expression', async ({ expression, record, result, engine }) => {
    const bindings = { lookups: { countries: { DE: 'Germany' } }, params: {}, each: {} };
    const [evaluated] = await evaluator.transform({
      expression: `{ 'r': ${expression} }`,
      records: [JSON.parse(record)],
      ...{ bindings, now: new Date('2026-01-01T00:00:00Z'), nulls: 'keep', timeoutMs: 5000 },
    });
    const shown = evaluated?.ok ? textOf(evaluated.value['r']) : `error: ${evaluated?.failure.message}`;
    expect(shown).toContain(result.replaceAll(/^`|`$/g, ''));
    expect(compile(`{ 'r': ${expression} }`) === null ? 'JSONata' : 'compiled').toBe(engine);
  });

  it('names what is seen at every place that has expressions', () => {
    const rows = [...page.matchAll(/^\| (?<names>`.*?) \| (?<places>`[a-z].*?) \|$/gm)].map(({ groups }) => ({
      names: codesIn(groups?.['names'] ?? ''),
      places: codesIn(groups?.['places'] ?? ''),
    }));
    for (const place of allPlaces()) {
      const row = rows.find(({ places }) => places.includes(nameOf(place)));
      expect([nameOf(place), row?.names]).toEqual([nameOf(place), namesOf(place)]);
    }
  });
});

const textOf = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

const codesIn = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The places of documents with all kinds of authentication. */
function allPlaces(): readonly ExpressionPlace[] {
  const secret = { kind: 'session', tokenFrom: '', expiresFrom: '', login: {} };
  const document = {
    auth: secret,
    lookups: [{}],
    resources: [{ auth: { kind: 'hmac', stringToSign: '', headers: {} } }],
  };
  return expressionPlaces(document);
}

/** A place as the page writes it: lists as `[]`, the parts of a request and of a pagination as one. */
function nameOf({ at, form }: ExpressionPlace): string {
  if (/^(?:resources\.\d+\.)?auth\./.test(at) && form === 'templates')
    return at.startsWith('auth') ? 'auth.*' : 'auth.* (hmac)';
  return at
    .replaceAll(/\.(?:0|\*)(?=\.|$)/g, '[]')
    .replace(/(addFields|job\.values)\[\]/, '$1')
    .replace(/(request|pagination|job\.create|job\.poll)\.[\w.]+$/, '$1.*');
}

function namesOf({ scope }: ExpressionPlace): readonly string[] {
  const roots = [...scope.roots].map(([name, members]) => (members === null ? name : `${name}.${members.join('/')}`));
  return [...(scope.open ? ['fields'] : []), ...roots, ...[...scope.variables].map((name) => `$${name}`)];
}
