import { _, type Ajv, Ajv as AjvDraft7, type CodeKeywordDefinition, Name, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type DefinedFormats, fullFormats } from 'ajv-formats/dist/formats.js';
import { AppError } from '../errors.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { calendarDay, clockTime } from '../time/plain-instant.ts';
import { createLinearPattern, type PatternBudget, spend } from './linear-pattern.ts';

export interface SchemaCompilerOptions {
  readonly allErrors: boolean;
  readonly draft: '7' | '2020';
  /**
   * Checks that each property is the record's own, at half the time of a validation. Only needed for a schema that
   * names an inherited property, because records are plain data.
   */
  readonly ownProperties: boolean;
  /** Shared by all patterns of all schemas; refilled before each schema and each record. */
  readonly budget: SchemaBudget;
}

export interface SchemaBudget extends PatternBudget {
  sizeLeft: number;
}

/**
 * Instructions of all patterns of a schema: some 6 MB. A pattern such as `^[a-z0-9]{1,255}$` has 510. Without a limit a
 * schema of 64 KB took 0.9 GB.
 */
export const patternSizeMax = 50_000;

/** Cost of a pattern besides its instructions: compile time grows with the square of their number. */
const sizePerPattern = 50;

export function createSchemaCompiler(options: SchemaCompilerOptions): Ajv {
  const compiler = options.draft === '7' ? new AjvDraft7(settings(options)) : new Ajv2020(settings(options));
  for (const [name, format] of Object.entries(boundedFormats(options.budget))) compiler.addFormat(name, format);
  compiler.addVocabulary(['example', 'externalDocs', 'xml']);
  compiler.addKeyword({
    keyword: 'bigInteger',
    type: 'string',
    schemaType: 'boolean',
    validate: (_schema: boolean, text: string) => isBigInteger(text),
    error: { message: 'must be integer' },
  });
  // The built-in compares every pair: 5,000,000,000 comparisons for an array of 100,000 objects.
  compiler.removeKeyword('uniqueItems');
  compiler.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (wanted: boolean, items: readonly unknown[]) => !wanted || allUnique(items),
    error: { message: 'must NOT have duplicate items' },
  });
  lookUpOwnNames(compiler);
  return compiler;
}

/**
 * The compiler notes evaluated properties (`anyOf` and the like) in a plain object, where it also finds inherited
 * names. So `unevaluatedProperties` accepted a property named `toString`.
 */
function lookUpOwnNames(compiler: Ajv): void {
  const builtIn = compiler.getKeyword('unevaluatedProperties');
  // Draft 7 has no such keyword.
  if (typeof builtIn !== 'object' || !('code' in builtIn)) return;
  const { code, ...definition }: CodeKeywordDefinition = builtIn;
  compiler.removeKeyword('unevaluatedProperties');
  compiler.addKeyword({
    ...definition,
    code(context, ruleType) {
      const { props } = context.it;
      if (props instanceof Name) {
        const own = _`Object.assign(Object.create(null), ${props})`;
        context.gen.if(_`typeof ${props} == "object"`, () => context.gen.assign(props, own));
      }
      code(context, ruleType);
    },
  });
}

const settings = ({ allErrors, ownProperties, budget }: SchemaCompilerOptions): Options => ({
  allErrors,
  strictTypes: false,
  strictTuples: false,
  allowUnionTypes: true,
  ownProperties,
  addUsedSchema: false,
  logger: false,
  code: { regExp: linearEngine(budget), optimize: false },
});

/** The linear engine in the compiler's own form, which identifies patterns by their text. */
function linearEngine(budget: SchemaBudget): NonNullable<NonNullable<Options['code']>['regExp']> {
  const engine = (pattern: string) => {
    const linear = createLinearPattern(pattern);
    budget.sizeLeft -= linear.size + sizePerPattern;
    if (budget.sizeLeft < 0) throw patternsTooLarge();
    return { test: (text: string) => linear.test(text, budget), toString: () => `/${pattern}/` };
  };
  return Object.assign(engine, { code: 'linearEngine' });
}

const patternsTooLarge = (): AppError =>
  new AppError(
    'spec_invalid',
    `The patterns of the schema have more than ${patternSizeMax} steps together: use fewer patterns, or maxLength instead of counted repetitions.`,
  );

/** Some formats take quadratic time; 4,096 characters stay below 10 ms. */
const formatLengthMax = 4_096;

/** Squared characters that at worst take as long as one visit of a pattern's state, some 100 ns. */
const squaresPerVisit = 200;

/** These check each character once. */
const linearFormats = new Set(['byte', 'binary', 'password']);

/** The most common form of each format: a match skips the full check, which is several times slower. */
const plainForms: Readonly<Record<string, RegExp>> = {
  date: new RegExp(`^${calendarDay}$`),
  'date-time': new RegExp(`^${calendarDay}T${clockTime}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${clockTime})$`),
};

const boundedFormats = (budget: PatternBudget) =>
  Object.fromEntries(
    Object.entries(fullFormats).map(([name, format]) => [
      name,
      linearFormats.has(name) ? format : bounded(format, { budget, plain: plainForms[name] ?? null }),
    ]),
  );

type Format = DefinedFormats[keyof DefinedFormats];

function bounded(format: Format, limits: { readonly budget: PatternBudget; readonly plain: RegExp | null }): Format {
  if (format instanceof RegExp) return bounded((text: string) => format.test(text), limits);
  if (typeof format === 'function') {
    const { budget, plain } = limits;
    return (text: string) => {
      if (plain?.test(text) === true) return true;
      if (text.length > formatLengthMax) return false;
      spend(budget, (text.length * text.length) / squaresPerVisit);
      return format(text);
    };
  }
  if (typeof format !== 'object' || format.type === 'number' || format.async === true) return format;
  const { validate } = format;
  // The number formats are removed, so the remaining ones take a text.
  return typeof validate === 'string' ? format : bounded(validate as RegExp | ((text: string) => boolean), limits);
}

/** A decimal integer beyond 2^53 - 1, as the decoder keeps it. */
const isBigInteger = (text: string): boolean =>
  // 17 digits always exceed it; parsing takes longer than counting.
  /^-?[1-9]\d{16,}$/.test(text) || (/^-?[1-9]\d{15}$/.test(text) && !Number.isSafeInteger(Number(text)));

function allUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => canonicalJson(item))).size === items.length;
}
