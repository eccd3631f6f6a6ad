import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import { valuesAt } from './document-paths.ts';

/** Rules of the destination: between its options, and what its kind supports for resources. */
export function checkDestination(document: unknown): readonly Issue[] {
  const { keepsRows, checkOptions } = destinationKind(document);
  const options = valuesAt(document, 'destination').flatMap(({ value }) => (isJsonObject(value) ? [value] : []));
  return [...options.flatMap(checkOptions), ...(keepsRows ? [] : withoutRows(document))];
}

/**
 * A receiver gets records one request after the other: it can never replace them all at once, and records it took
 * before it rejected one cannot be taken back.
 */
function withoutRows(document: unknown): readonly Issue[] {
  return [
    ...refused(document, {
      at: 'resources.*.target.mode',
      value: 'replace',
      message: 'a webhook has no mode replace: use upsert, with `deletes` for deleted records',
    }),
    ...refused(document, {
      at: 'resources.*.target.onTypeConflict',
      value: 'fail',
      message: 'a webhook cannot undo the records that it accepted before it rejected one: use quarantine',
    }),
  ];
}

interface Refused {
  readonly at: string;
  readonly value: string;
  readonly message: string;
}

const refused = (document: unknown, { at, value, message }: Refused): readonly Issue[] =>
  valuesAt(document, at).flatMap((found) => (found.value === value ? [schemaIssue(found.path, message)] : []));
