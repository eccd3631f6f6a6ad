import { type Issue, schemaIssue } from '../../errors.ts';
import { destinationKind } from '../schema/destination-kinds.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';

/**
 * Why a resource cannot go to the deployment's default destination, as text for people; `null` if it can or goes
 * elsewhere.
 */
export function placeRefusal(
  { destination }: Pick<ConnectorSpec, 'destination'>,
  { key, target }: Pick<Resource, 'key' | 'target'>,
  defaultDestination: unknown,
): string | null {
  if (destination || target.schema === undefined || defaultDestination === null) return null;
  if (!destinationKind({ destination: defaultDestination }).keepsRows) return null;
  return (
    `The resource "${key}" names target.schema, and the spec declares no destination. ` +
    'At the default one of this deployment (DEFAULT_DESTINATION) each org has a schema of its own. ' +
    'Remove target.schema, or add `destination` to the spec.'
  );
}

/** Why a spec has nowhere to deliver to, as text for people; `null` if there is a destination. */
export const destinationRefusal = (
  { destination }: Pick<ConnectorSpec, 'destination'>,
  defaultDestination: unknown,
): string | null =>
  destination || defaultDestination !== null
    ? null
    : 'The spec declares no destination, and this deployment has no default one (DEFAULT_DESTINATION): add `destination` to the spec.';

export function placeIssues(spec: ConnectorSpec, defaultDestination: unknown): readonly Issue[] {
  const missing = destinationRefusal(spec, defaultDestination);
  if (missing !== null) return [schemaIssue('destination', missing)];
  return spec.resources.flatMap((resource, index) => {
    const refusal = placeRefusal(spec, resource, defaultDestination);
    return refusal === null ? [] : [schemaIssue(`resources.${index}.target.schema`, refusal)];
  });
}
