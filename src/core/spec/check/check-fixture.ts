import { checkSpec } from './check.ts';

/** The issues of a document as `code path`, in the order reported. */
export const codesAndPaths = (document: unknown): readonly string[] => {
  const result = checkSpec(document);
  return result.valid ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};
