/**
 * Validates records against the JSON Schema of a resource, in our own process. A record takes under 1 µs, while a round
 * trip to a child takes about 20 µs. This is safe because everything in a customer's schema that could hang or flood us
 * is bounded:
 *
 * - Patterns run on a linear engine without backtracking.
 * - References cannot multiply or form a cycle (document.ts).
 * - Formats and `uniqueItems` are bounded (compiler.ts).
 * - Records too large for their schema are refused (record-work.ts).
 * - All errors are collected only where there cannot be many.
 */
import { hash } from 'node:crypto';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import { cutText } from '../json/cut-text.ts';
import { storableText } from '../json/storable-text.ts';
import { createSchemaCompiler, patternSizeMax, type SchemaBudget, type SchemaCompilerOptions } from './compiler.ts';
import { type PreparedSchema, prepareSchema } from './document.ts';
import { PatternBudgetError, patternVisitsMax } from './linear-pattern.ts';
import { sizeOf, takesTooLong } from './record-work.ts';

/** An issue as a quarantine row stores it; the message never holds a value of the record. */
export interface RecordIssue {
  /** Dotted, with array indexes; empty for the record itself. */
  readonly path: string;
  readonly message: string;
  /** The JSON Schema keyword, or the stage that refused the record. */
  readonly keyword: string;
}

export const issueOf = (keyword: string, message: string): RecordIssue => ({ path: '', message, keyword });

/** `null` when the record is valid, else at most 100 issues. */
export type Validator = (record: unknown) => readonly RecordIssue[] | null;

/**
 * The validator of a JSON Schema (2020-12, or draft 7 where `$schema` names drafts 4 to 7), cached by schema. With
 * `bigIntegers`, the default, a decimal string beyond 2^53 is an integer, as the decoder keeps one. Throws `AppError`
 * `spec_invalid` for an invalid or too expensive schema.
 */
export function compileValidator(schema: unknown, options: { readonly bigIntegers?: boolean } = {}): Validator {
  const { bigIntegers = true } = options;
  const text = `${bigIntegers}${JSON.stringify(schema)}`;
  const key = hash('sha256', text, 'base64url');
  const known = cache.get(key);
  if (known !== undefined) return known;
  const validator = compile(prepareSchema(schema, { bigIntegers }), draftOf(schema));
  const patternSize = patternSizeMax - budget.sizeLeft;
  cache.set(key, validator, { size: text.length + charactersPerStep * patternSize });
  return validator;
}

/** A pattern step takes as much memory as some characters of JSON in a compiled schema. */
const charactersPerStep = 4;

/**
 * Recently used schemas by a hash: a usual one takes some 50 KB, and 2 to 10 ms to compile. Sizes are characters of
 * JSON plus pattern steps; each character takes up to 150 bytes.
 */
const cache = new LRUCache<string, Validator>({ max: 200, maxSize: 1_048_576 });

const issuesMax = 100;

/** Most work for the run that collects every error: the cost of the schema times the size of the record. */
const fullReportMax = 200_000;

type Draft = '7' | '2020';

function compile({ schema, cost, namesInherited }: PreparedSchema, draft: Draft): Validator {
  const isValid = compileWith((namesInherited ? firstErrorOf : firstPlainErrorOf)[draft](), schema);
  let reportAll: ValidateFunction | null = null;
  const check: Validator = (record) => {
    if (isValid(record)) return null;
    const first = isValid.errors;
    if (sizeOf(record, fullReportMax / cost) > fullReportMax / cost) return toIssues(first);
    reportAll ??= compileWith(allErrorsOf[draft](), schema);
    reportAll(record);
    return toIssues(reportAll.errors ?? first);
  };
  return (record) => {
    if (takesTooLong(record, cost)) return [tooMuchWork];
    budget.left = patternVisitsMax;
    try {
      return check(record);
    } catch (error) {
      if (error instanceof PatternBudgetError)
        return [issueOf('pattern', 'takes too long to be checked against patterns and formats')];
      if (error instanceof RangeError) throw tooNested(error);
      // Comparing objects calls their `valueOf` and `toString`, which may be data: the record fails, not its page.
      if (!(error instanceof TypeError)) throw error;
      return [{ path: '', message: 'has a value that cannot be compared', keyword: 'schema' }];
    }
  };
}

const tooMuchWork = issueOf(
  'schema',
  'has too many values, or too long texts, for this schema: it takes too long. Simplify the schema, or read smaller records.',
);

/** Shared by all validators and compilers: they are synchronous, and each refills it before it starts. */
const budget: SchemaBudget = { left: patternVisitsMax, sizeLeft: patternSizeMax };

function compileWith(compiler: Ajv, schema: PreparedSchema['schema']): ValidateFunction {
  budget.sizeLeft = patternSizeMax;
  try {
    const validate = compiler.compile(schema);
    withLittleStack(() => validate({}));
    return validate;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (cause instanceof RangeError) throw tooNested(cause);
    const reason = cause instanceof Error ? storableText(cutText(cause.message, 300)) : 'it does not compile';
    throw new AppError('spec_invalid', `The schema of validate cannot be used: ${reason}.`, { cause });
  } finally {
    // The compiler would keep every schema forever; we have our own cache.
    compiler.removeSchema(schema);
  }
}

/**
 * JavaScript compiles a function when it is called, and one level of code per property fills the stack. Records are
 * validated where less of it is left.
 */
function withLittleStack(work: () => void, calls = 1000): void {
  if (calls === 0) work();
  else withLittleStack(work, calls - 1);
}

const tooNested = (cause: RangeError): AppError =>
  new AppError(
    'spec_invalid',
    'The schema of validate cannot be used: it has too many properties, or nests too deeply. Describe fewer of them.',
    { cause },
  );

const firstErrorOf = lazyCompilers({ allErrors: false, ownProperties: true });
/** For schemas that name nothing that objects inherit. */
const firstPlainErrorOf = lazyCompilers({ allErrors: false, ownProperties: false });
const allErrorsOf = lazyCompilers({ allErrors: true, ownProperties: true });

function lazyCompilers(options: Omit<SchemaCompilerOptions, 'draft' | 'budget'>): Readonly<Record<Draft, () => Ajv>> {
  const lazyCompiler = (draft: Draft) => {
    let compiler: Ajv | null = null;
    return () => {
      compiler ??= createSchemaCompiler({ ...options, draft, budget });
      return compiler;
    };
  };
  return { '7': lazyCompiler('7'), '2020': lazyCompiler('2020') };
}

function draftOf(schema: unknown): Draft {
  const uri = typeof schema === 'object' && schema !== null && '$schema' in schema ? schema.$schema : null;
  return typeof uri === 'string' && /draft-0[467]/.test(uri) ? '7' : '2020';
}

function toIssues(errors: ValidateFunction['errors']): readonly RecordIssue[] {
  return (errors ?? []).slice(0, issuesMax).map(toIssue);
}

function toIssue({ instancePath, keyword, message, params }: ErrorObject): RecordIssue {
  const steps = instancePath.split('/').slice(1);
  const property: unknown = params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  if (typeof property === 'string') steps.push(property);
  const path = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
  // A property name of the record may hold characters that no database column can.
  return {
    path: storableText(path),
    message: storableText(message ?? 'is invalid'),
    keyword: keyword === 'bigInteger' ? 'type' : keyword,
  };
}
