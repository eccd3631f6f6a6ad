import { describe, expect, it } from 'vitest';
import { shippedCatalogue } from '../../../catalogue/catalogue.ts';
import { checkSpec } from '../../../core/spec/check/check.ts';
import { destinationKinds, withDestination } from './with-destination.ts';

const connectors = await shippedCatalogue.list();

describe.each(destinationKinds)('a connector with the destination %s', (kind) => {
  it.each(connectors.map((connector) => [connector.key, connector] as const))(
    'is a valid spec: %s',
    (key, connector) => {
      const checked = checkSpec(withDestination(connector, kind), { expectedKey: key });
      expect(checked.valid ? [] : checked.issues).toEqual([]);
      expect(checked.valid && checked.spec.destination?.kind).toBe(kind === 'default' ? undefined : kind);
    },
  );
});
