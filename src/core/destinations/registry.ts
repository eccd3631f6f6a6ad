import { AppError } from '../errors.ts';
import { observations } from '../observations.ts';
import type { DestinationSpec } from '../spec/schema/destination-schema.ts';
import type { Destination } from './destination.ts';
import { openPostgres } from './postgres/postgres.ts';
import { openSqlServer, type SqlServerDeps } from './sqlserver/sqlserver.ts';
import { openWebhook, type WebhookDeps } from './webhook/webhook.ts';

/** A spec's `destination` with its templates resolved. */
export interface DestinationOptions {
  readonly kind: string;
  readonly [option: string]: unknown;
}

export type DestinationDeps = WebhookDeps & Pick<SqlServerDeps, 'orgId'>;

type Open = (options: DestinationOptions, deps: DestinationDeps) => Destination;

const kinds = new Map<string, Open>(
  Object.entries({
    postgres: openPostgres,
    sqlserver: openSqlServer,
    webhook: (options, deps) => openWebhook(options, deps),
  } satisfies Readonly<Record<DestinationSpec['kind'], Open>>),
);

/**
 * Opens the destination of one lane, which connects only when it is used.
 *
 * Throws `destination_rejected` for an unknown kind or unusable options.
 */
export function openDestination(options: DestinationOptions, deps: DestinationDeps): Destination {
  const open = kinds.get(options.kind);
  if (!open) throw new AppError('destination_rejected', `No destination of kind ${JSON.stringify(options.kind)}.`);
  return observed(options.kind, open(options, deps));
}

const observed = (kind: string, destination: Destination): Destination => ({
  check: (targets) => destination.check(targets),
  open: (claim) => destination.open(claim),
  ...(destination.peek && { peek: destination.peek.bind(destination) }),
  ...(destination.leftovers && { leftovers: destination.leftovers.bind(destination) }),
  prepare: (batch) => destination.prepare(batch),
  async apply(batch) {
    const begunAt = performance.now();
    let failed = true;
    try {
      const rejected = await destination.apply(batch);
      failed = false;
      return rejected;
    } finally {
      const { length: rows } = batch.rows;
      const { length: tombstones } = batch.tombstones;
      observations.batchApplied.publish({ kind, rows, tombstones, durationMs: performance.now() - begunAt, failed });
    }
  },
  [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
});
