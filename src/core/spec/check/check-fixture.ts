import { checkSpec } from './check.ts';

/** A change of a valid spec, and what is reported of it. */
export interface Case {
  readonly rule: string;
  readonly changes: Readonly<Record<string, unknown>>;
  /** `code path`, in the order reported. */
  readonly issues: readonly string[];
}

/** The issues of a document as `code path`, in the order reported. */
export const codesAndPaths = (document: unknown): readonly string[] => {
  const result = checkSpec(document);
  return result.valid ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};
