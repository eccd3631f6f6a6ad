import type { Evaluator } from '../../src/core/expressions/evaluation.ts';
import type { ConnectorSpec } from '../../src/core/spec/schema/spec-schema.ts';
import type { SimApi } from './api.ts';
import type { SimDatabase } from './destination.ts';
import type { SimReceiver } from './receiver.ts';
import type { Scheduler } from './scheduler.ts';
import type { TemporalServer } from './temporal-server.ts';

/** The simulation under way, for what stands in for modules and can be given nothing else. */
interface Current {
  readonly scheduler: Scheduler;
  readonly server: TemporalServer;
  readonly api: SimApi;
  readonly database: SimDatabase;
  /** Null: the seed delivers to the database. */
  readonly receiver: SimReceiver | null;
  readonly evaluator: Evaluator;
  /** By version. */
  readonly specs: ReadonlyMap<string, ConnectorSpec>;
  readonly ids: { next(): number };
}

let current: Current | null = null;

const known = (): Current => {
  if (!current) throw new Error('No simulation is under way');
  return current;
};

export const currentScheduler = (): Scheduler => known().scheduler;
export const currentServer = (): TemporalServer => known().server;
export const currentApi = (): SimApi => known().api;
export const currentDatabase = (): SimDatabase => known().database;
export const deliversToWebhook = (): boolean => known().receiver !== null;
export const currentReceiver = (): SimReceiver => {
  const { receiver } = known();
  if (!receiver) throw new Error('The seed delivers to the database');
  return receiver;
};
export const currentEvaluator = (): Evaluator => known().evaluator;
export const currentSpecs = (): ReadonlyMap<string, ConnectorSpec> => known().specs;
export const currentIds = (): Current['ids'] => known().ids;

/** From now on this simulation is under way. */
export function begin(next: Current): void {
  current = next;
}
