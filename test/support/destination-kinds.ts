import type { DestinationKind } from './destination-kind.ts';
import { postgresKind } from './postgres-kind.ts';

/** Every kind of destination that the conformance suites run against. */
export const destinationKinds: readonly DestinationKind[] = [postgresKind];
