import { describe, expect, it } from 'vitest';
import { sqlServerKind, sqlServerUrl } from '../sqlserver/kind.ts';
import { laneKind } from '../sqlserver/lane-kind.ts';
import type { DeliveryKind, DestinationKind } from './destination-kind.ts';
import { postgresKind } from './postgres-kind.ts';
import { webhookKind } from './webhook-kind.ts';

/** Every kind of destination that has tables. */
export const destinationKinds: readonly DestinationKind[] = [postgresKind, sqlServerKind];

/** These and the kinds that have no tables. */
export const deliveryKinds: readonly DeliveryKind[] = [...destinationKinds, webhookKind];

/** The same; SQL Server is one that only remembers deliveries, unless the tests have a server. */
export const promisingKinds: readonly DeliveryKind[] = deliveryKinds.map((kind) =>
  kind === sqlServerKind && sqlServerUrl() === null ? laneKind : kind,
);

/** Those of them that keep records in rows. */
export const rowKinds: readonly DeliveryKind[] = promisingKinds.filter((kind) => kind !== webhookKind);

/**
 * A suite for each kind. In place of that of a kind without a server, one skipped test says what is missing: what
 * remembers deliveries knows the statements of mode upsert, no types, and none of the SQL by which such a suite changes
 * tables, holds locks or ends sessions.
 */
export function describeKinds<Kind extends DeliveryKind>(
  kinds: readonly Kind[],
  subject: string,
  suite: (kind: Kind) => void,
): void {
  for (const kind of kinds) {
    const isMissing = kind.createPlace === sqlServerKind.createPlace && sqlServerUrl() === null;
    const cases = isMissing ? needsServer : suite;
    describe.skipIf(isMissing)(`${kind.name}${subject}`, () => {
      cases(kind);
    });
  }
}

function needsServer(): void {
  it('needs a server that TEST_SQLSERVER_URL names', () => {
    expect(sqlServerUrl()).not.toBeNull();
  });
}
