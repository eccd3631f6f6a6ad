import { mergeOverrides } from '../../json/merge-patch.ts';
import { valuesAt } from '../check/document-paths.ts';

/** Keys of a connection's resources, in the order of its spec; neither document is checked. */
export const resourceKeysOf = (document: unknown, overrides: unknown): readonly string[] =>
  valuesAt(overrides === null ? document : mergeOverrides(document, overrides), 'resources.*.key').flatMap(
    ({ value }) => (typeof value === 'string' ? [value] : []),
  );
