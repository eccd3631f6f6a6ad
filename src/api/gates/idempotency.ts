import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../../db/client.ts';
import {
  claimIdempotent,
  type EarlierRequest,
  findIdempotent,
  type IdempotentRequest,
  releaseIdempotent,
  saveIdempotent,
} from '../../../db/queries/orgs/idempotency.ts';
import type { OrgScope } from '../../../db/scope.ts';
import type { SaveResponse } from '../../control/orgs/write.ts';
import { type AppError, conflict, invalid, schemaIssue } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import type { Deps } from '../../deps.ts';
import { type KeptResponse, keepResponse, keptResponse } from './kept-response.ts';

export interface KeyedRequest extends Omit<IdempotentRequest, 'key'> {
  readonly key: string;
  readonly document: unknown;
  readonly status: number;
  /** `conflict`: the response must not be repeated, because it holds a secret shown only once. */
  readonly repeated: 'same_response' | 'conflict';
}

export interface IdempotentResponse {
  readonly json: string;
  readonly replayed: boolean;
}

/** The lock of a request outlives it: the server ends a request after 30 s. */
const lockSeconds = 60;
/** Most responses come sooner, and a client does not hang for long. */
const waitMs = 5000;
const pollMs = 50;
/** As at Stripe: printable, at most 255 characters. */
const keyForm = /^[\u0020-\u007e]{1,255}$/;

/**
 * Does the work once per key and day. Only a keyed fingerprint of the body is stored, as it may hold secrets.
 * A repetition waits up to 5 s for the first response. Throws a conflict if that takes longer, or if
 * the body is another (the order of properties does not count). It also does if the response must not be repeated,
 * or was too long to keep.
 *
 * The work saves its response in its own transaction, so a key without a response belongs to a request without effects.
 * A failed request releases its key; after a crash the lock expires.
 */
export async function respondOnce(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { document, repeated, status, ...key }: KeyedRequest,
  work: (saveResponse: SaveResponse) => Promise<unknown>,
): Promise<IdempotentResponse> {
  if (!keyForm.test(key.key)) throw badKey();
  const body = document === undefined ? '' : canonicalJson(document);
  const request = { ...key, bodyHash: secretBox.fingerprint(body) };
  const earlier = await claimOrAwait(
    db,
    scope,
    request,
    (hash) => secretBox.isFingerprint(hash, body) || hash === formerHashOf(body),
  );
  if (earlier) return replay(earlier, { document, repeated });
  try {
    const result = await work(async (tx, made) => {
      const kept = repeated === 'same_response' ? keepResponse(made, document) : nothing;
      if (!(await saveIdempotent(tx, scope, { ...request, status, ...kept }))) throw stillResponds();
    });
    return { json: JSON.stringify(result), replayed: false };
  } catch (error) {
    // If the release fails, the lock expires.
    await releaseIdempotent(db, scope, key).catch(() => undefined);
    throw error;
  }
}

const nothing: KeptResponse = { response: null, abridged: null };

/** The hash that the previous version stored; its keys live for a day. */
const formerHashOf = (body: string): string => createHash('sha256').update(body).digest('hex');

/**
 * `null` if the key is ours, else the earlier request with its response. Throws a conflict for another body or a long
 * wait.
 */
async function claimOrAwait(
  db: Db,
  scope: OrgScope,
  request: IdempotentRequest & { readonly bodyHash: string },
  isOfBody: (bodyHash: string) => boolean,
): Promise<EarlierRequest | null> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    if (await claimIdempotent(db, scope, { ...request, lockSeconds })) return null;
    const earlier = await findIdempotent(db, scope, request);
    if (earlier && !isOfBody(earlier.bodyHash)) throw otherBody();
    // Undefined: the earlier request failed and released the key, so the next claim may succeed.
    if (earlier && earlier.status !== null) return earlier;
    if (performance.now() > deadline) throw stillResponds();
    await sleep(pollMs);
  }
}

function replay(
  kept: EarlierRequest,
  { document, repeated }: Pick<KeyedRequest, 'document' | 'repeated'>,
): IdempotentResponse {
  const json = keptResponse(kept, document);
  if (json === null) throw repeated === 'conflict' ? shownOnce() : tooLong();
  return { json, replayed: true };
}

const otherBody = (): AppError =>
  conflict('This Idempotency-Key was used with another body: use a new key for a new request.');

const stillResponds = (): AppError =>
  conflict('The first request with this Idempotency-Key is still in progress: repeat it in a moment.');

const shownOnce = (): AppError =>
  conflict('This Idempotency-Key was used, and the response contains a secret that is shown only once. Use a new key.');

const tooLong = (): AppError =>
  conflict(
    'The first request with this Idempotency-Key was successful, and its response is too long to be kept: read what it made.',
  );

const badKey = (): AppError =>
  invalid('The Idempotency-Key is not valid.', [
    schemaIssue('Idempotency-Key', 'expected 1 to 255 printable ASCII characters'),
  ]);
