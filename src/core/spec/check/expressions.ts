import { AppError, type Issue, schemaIssue } from '../../errors.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { expressionReferences } from '../../expressions/references.ts';
import { hasHoles, parseTemplate, type TemplatePart } from '../../expressions/template-parts.ts';
import { type DeclaredNames, declaredNames } from './declared-names.ts';
import { type Located, textsIn, valuesAt } from './document-paths.ts';
import { type ExpressionPlace, expressionPlaces } from './expression-places.ts';
import { referenceIssue, type Surroundings } from './references-in-place.ts';

/** Checks that every expression and template parses, and uses only names that exist at its place. */
export function checkExpressions(document: unknown, parse: ParseExpression): readonly Issue[] {
  const names = declaredNames(document);
  return expressionPlaces(document).flatMap((place) =>
    valuesAt(document, place.at).flatMap((located) => checkPlace(place, located, { names, parse })),
  );
}

/** The expressions written at one place; none if the text does not parse. */
export function expressionsAt(
  form: ExpressionPlace['form'],
  located: Located,
  parse: ParseExpression,
): readonly string[] {
  return textsIn(located).flatMap((text) => {
    if (form === 'expression') return [text.value];
    const parts = readParts(text.value, parse);
    return typeof parts === 'string' ? [] : holesIn(parts);
  });
}

interface CheckContext {
  readonly names: DeclaredNames;
  readonly parse: ParseExpression;
}

type CheckedPlace = Surroundings & CheckContext;

function checkPlace(place: ExpressionPlace, located: Located, { names, parse }: CheckContext): readonly Issue[] {
  const texts =
    place.form === 'templates' ? textsIn(located) : textsIn(located).filter(({ path }) => path === located.path);
  return texts.flatMap(({ path, value }) => {
    const around = { path, scope: place.scope, names, parse, resource: resourceNames(path, names) };
    return place.form === 'expression' ? checkExpression(value, around) : checkTemplate(value, place.form, around);
  });
}

function resourceNames(path: string, names: DeclaredNames): Surroundings['resource'] {
  const [top, index] = path.split('.');
  return top === 'resources' ? (names.resources[Number(index)] ?? null) : null;
}

function checkTemplate(text: string, form: ExpressionPlace['form'], around: CheckedPlace): readonly Issue[] {
  const parts = readParts(text, around.parse);
  if (typeof parts === 'string') return [schemaIssue(around.path, parts)];
  const issues = holesIn(parts).flatMap((hole) => checkExpression(hole, around));
  const isRawAllowed = form === 'path' || !parts.some((part) => 'raw' in part);
  return isRawAllowed
    ? issues
    : [schemaIssue(around.path, 'triple braces are for paths only; write {{ … }}'), ...issues];
}

function readParts(text: string, parse: ParseExpression): readonly TemplatePart[] | string {
  if (!hasHoles(text)) return [];
  try {
    return parseTemplate(text, parse);
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

const holesIn = (parts: readonly TemplatePart[]): readonly string[] =>
  parts.flatMap((part) => ('expression' in part ? [part.expression] : []));

function checkExpression(text: string, around: CheckedPlace): readonly Issue[] {
  const parsed = around.parse(text);
  if (!parsed.ok) return [schemaIssue(around.path, parsed.message)];
  try {
    const issues = expressionReferences(parsed.ast).map((reference) => referenceIssue(reference, around));
    return uniqueByMessage(issues.filter((issue) => issue !== null));
  } catch (error) {
    if (error instanceof RangeError) return [schemaIssue(around.path, 'the expression nests too deeply; split it')];
    throw error;
  }
}

const uniqueByMessage = (issues: readonly Issue[]): readonly Issue[] => [
  ...new Map(issues.map((issue) => [issue.message, issue])).values(),
];
