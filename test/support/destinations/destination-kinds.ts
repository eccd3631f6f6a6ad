import { describe, it } from 'vitest';
import { sqlServerKind, sqlServerUrl } from '../sqlserver/kind.ts';
import type { DeliveryKind, DestinationKind } from './destination-kind.ts';
import { postgresKind } from './postgres-kind.ts';
import { webhookKind } from './webhook-kind.ts';

/** Every kind of destination that has tables. */
export const destinationKinds: readonly DestinationKind[] = [postgresKind, sqlServerKind];

/** These and the kinds that have no tables. */
export const deliveryKinds: readonly DeliveryKind[] = [...destinationKinds, webhookKind];

/** A suite for each kind. In place of that of a kind without a server, one skipped test says what is missing. */
export function describeKinds<Kind extends DeliveryKind>(
  kinds: readonly Kind[],
  subject: string,
  suite: (kind: Kind) => void,
): void {
  for (const kind of kinds) {
    const name = `${kind.name}${subject}`;
    if (kind.name === sqlServerKind.name && sqlServerUrl() === null) {
      it.skip(`${name}: TEST_SQLSERVER_URL names no server`, () => suite(kind));
    } else {
      describe(name, () => {
        suite(kind);
      });
    }
  }
}
