import * as v from 'valibot';
import { AppError } from '../core/errors.ts';
import { DestinationSpec } from '../core/spec/schema/destination-schema.ts';

/** The destination of specs without one, as DEFAULT_DESTINATION says. Throws `spec_invalid` when there is none. */
export function operatorsDestination(configured: unknown): DestinationSpec {
  const { success, output } = v.safeParse(DestinationSpec, configured);
  if (success) return output;
  throw new AppError(
    'spec_invalid',
    'The spec declares no destination, and this deployment has no valid default one (DEFAULT_DESTINATION): add `destination` to the spec.',
  );
}
