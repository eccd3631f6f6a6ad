import type { Payload } from '../../../src/core/crypto/payload-codec.ts';

/**
 * What a worker leaves readable: search attributes, and what it notes itself of `patched()` and, as `data`, of a local
 * activity: its name and times, while the result is a payload like any other.
 */
const neverEncoded = new Set(['searchAttributes', 'patch-data', 'data']);

/** Puts every payload of a history through one direction of a codec, in place, as a worker does. */
export async function changePayloads<Value>(
  value: Value,
  change: (payloads: Payload[]) => Promise<Payload[]>,
): Promise<Value> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (isPayload(value)) return Object.assign(value, (await change([value]))[0]);
  for (const [name, item] of Object.entries(value)) {
    if (!neverEncoded.has(name)) await changePayloads(item, change);
  }
  return value;
}

/** Every payload in it that a worker encodes, with the names that lead to it. */
export function payloadsIn(value: unknown, path: readonly string[] = []): readonly FoundPayload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if (isPayload(value)) return [{ path: path.join('.'), payload: value }];
  return Object.entries(value).flatMap(([name, item]) =>
    neverEncoded.has(name) ? [] : payloadsIn(item, [...path, name]),
  );
}

/** A payload and where it is, for example `workflowExecutionStartedEventAttributes.input.payloads.0`. */
export interface FoundPayload {
  readonly path: string;
  readonly payload: Payload;
}

function isPayload(value: object): value is Payload {
  const { metadata } = value as Payload;
  return metadata?.['encoding'] instanceof Uint8Array;
}
