import { describe } from 'vitest';
import { sqlServerKind, sqlServerUrl } from '../sqlserver/kind.ts';
import type { DeliveryKind, DestinationKind } from './destination-kind.ts';
import { postgresKind } from './postgres-kind.ts';
import { webhookKind } from './webhook-kind.ts';

/** Every kind of destination that has tables. */
export const destinationKinds: readonly DestinationKind[] = [postgresKind, sqlServerKind];

/** These and the kinds that have no tables. */
export const deliveryKinds: readonly DeliveryKind[] = [...destinationKinds, webhookKind];

/** What follows the name of a suite that is skipped. */
const skippedReason = ', skipped: TEST_SQLSERVER_URL names no server';

/** A suite for each kind. That of a kind without a server is skipped, and its name says what is missing. */
export function describeKinds<Kind extends DeliveryKind>(
  kinds: readonly Kind[],
  subject: string,
  suite: (kind: Kind) => void,
): void {
  for (const kind of kinds) {
    const isMissing = kind.name === sqlServerKind.name && sqlServerUrl() === null;
    const reason = isMissing ? skippedReason : '';
    describe.skipIf(isMissing)(`${kind.name}${subject}${reason}`, () => {
      suite(kind);
    });
  }
}
