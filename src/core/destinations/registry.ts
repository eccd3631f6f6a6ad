import { AppError } from '../errors.ts';
import type { EgressGuard } from '../http/egress.ts';
import type { Destination } from './destination.ts';
import { openPostgres } from './postgres.ts';

/** A spec's `destination` with its templates resolved. What each option means is the kind's own matter. */
export interface DestinationOptions {
  readonly kind: string;
  readonly [option: string]: unknown;
}

/** What destinations are given from outside. */
export interface DestinationDeps {
  /** Judges a host before anything connects to it. */
  readonly guard: Pick<EgressGuard, 'vetHost'>;
}

const kinds = new Map([['postgres', openPostgres]]);

/**
 * The destination of one lane, of whatever kind; nothing connects before `Destination.open`.
 *
 * Throws `destination_rejected` for a kind that is not there or options that cannot work.
 */
export function openDestination(options: DestinationOptions, deps: DestinationDeps): Destination {
  const open = kinds.get(options.kind);
  if (!open) throw new AppError('destination_rejected', `No destination of kind ${JSON.stringify(options.kind)}.`);
  return open(options, deps);
}
