import type { DestinationDeps } from '../../../src/core/destinations/registry.ts';
import type { Outbox } from '../../../src/core/destinations/webhook/outbox.ts';

/** What a destination is given that keeps its own checkpoint and sends no HTTP. */
export const destinationDeps = (
  guard: DestinationDeps['guard'],
  overrides: Partial<DestinationDeps> = {},
): DestinationDeps => ({
  guard,
  orgId: 'org_1',
  outbox: noOutbox,
  logCall: notUsed,
  onStrayRejections: notUsed,
  secrets: [],
  isOperators: false,
  resource: { orgId: 'org_1', resourceKey: 'items', specVersion: '1.0.0' },
  ...overrides,
});

const notUsed = (): never => {
  throw new Error('This destination keeps its own checkpoint.');
};

const noOutbox: Outbox = {
  open: notUsed,
  prepare: notUsed,
  advance: notUsed,
  doubt: notUsed,
  failed: notUsed,
  complete: notUsed,
  discard: notUsed,
};
