import { sqlServerKind, sqlServerUrl } from '../sqlserver/kind.ts';
import type { DeliveryKind, DestinationKind } from './destination-kind.ts';
import { postgresKind } from './postgres-kind.ts';
import { webhookKind } from './webhook-kind.ts';

/** Every kind of destination that has tables, and a server for the tests. */
export const destinationKinds: readonly DestinationKind[] = [postgresKind, ...(sqlServerUrl() ? [sqlServerKind] : [])];

/** These and the kinds that have no tables. */
export const deliveryKinds: readonly DeliveryKind[] = [...destinationKinds, webhookKind];
