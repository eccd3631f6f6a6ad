import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import { valuesAt } from './document-paths.ts';

export function checkDestination(document: unknown): readonly Issue[] {
  const { keepsRows, checkOptions } = destinationKind(document);
  const options = valuesAt(document, 'destination').flatMap(({ value }) => (isJsonObject(value) ? [value] : []));
  return [...options.flatMap(checkOptions), ...(keepsRows ? [] : withoutRows(document))];
}

/**
 * A receiver gets one request after another: it cannot replace all records at once, and keeps those accepted before a
 * rejected one.
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
