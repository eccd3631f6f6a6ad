import { type Issue, schemaIssue } from '../../errors.ts';
import { valuesAt } from './document-paths.ts';

/** Maximum items of the list at each path; `*` is any item or name. Checks across these lists take more than linear time. */
export const listLengths: readonly (readonly [pattern: string, max: number])[] = [
  ['connectionParams', 200],
  ['lookups', 100],
  ['lookups.*.dependsOn', 100],
  ['http.errors', 100],
  ['resources', 200],
  ['resources.*.dependsOn', 200],
  ['resources.*.forEach', 4],
  ['resources.*.forEach.*.union', 8],
  ['resources.*.errors', 100],
  ['resources.*.job.createErrors', 100],
  ['resources.*.job.pollErrors', 100],
  ['resources.*.enrich', 16],
  ['resources.*.enrich.*.dependsOn', 100],
  ['tests', 50],
  ['tests.*.mocks', 200],
];

export const checkSizes = (document: unknown): readonly Issue[] =>
  listLengths.flatMap(([pattern, max]) =>
    valuesAt(document, pattern)
      .filter(({ value }) => Array.isArray(value) && value.length > max)
      .map(({ path }) => schemaIssue(path, `expected at most ${max} items`)),
  );
