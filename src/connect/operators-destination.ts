import * as v from 'valibot';
import { AppError } from '../core/errors.ts';
import { DestinationSpec } from '../core/spec/schema/destination-schema.ts';

/** Throws `spec_invalid` when DEFAULT_DESTINATION is missing or invalid. */
export function operatorsDestination(configured: unknown): DestinationSpec {
  const { success, output } = v.safeParse(DestinationSpec, configured);
  if (success) return output;
  throw new AppError(
    'spec_invalid',
    'The spec declares no destination, and this deployment has no valid default one (DEFAULT_DESTINATION): add `destination` to the spec.',
  );
}
