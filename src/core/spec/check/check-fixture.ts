import { checkSpec } from './check.ts';

export const codesAndPaths = (document: unknown): readonly string[] => {
  const result = checkSpec(document);
  return result.valid ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};
