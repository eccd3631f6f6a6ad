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

/** A request that carries an `Idempotency-Key`. */
export interface KeyedRequest extends Omit<IdempotentRequest, 'key'> {
  readonly key: string;
  /** The parsed body; undefined when the endpoint reads none. */
  readonly document: unknown;
  /** The status of its response when it succeeds. */
  readonly status: number;
  /** Whether the response may be given again; `conflict`: it holds what exists only once. */
  readonly repeated: 'same_response' | 'conflict';
}

/** A response as it goes out, and whether it is the one of an earlier request. */
export interface IdempotentResponse {
  readonly json: string;
  readonly replayed: boolean;
}

/**
 * The seconds after which a request that still runs counts as dead with its process: the server ends one after 30 s.
 */
const lockSeconds = 60;
/**
 * The milliseconds that a repetition waits for the first response: most come sooner, and a client does not hang for
 * long.
 */
const waitMs = 5000;
const pollMs = 50;
/** The form of a key, as at Stripe: printable, at most 255 characters. */
const keyForm = /^[\u0020-\u007e]{1,255}$/;

/**
 * Does the work once per key and day, of whose body only a keyed fingerprint is kept: it may hold secrets. A repetition
 * gets the first response, and waits for it up to 5 s. Throws a conflict for another body under the same key (the order of
 * properties does not count), when the first request takes longer, and where the response may not be given twice or was too
 * long to be kept.
 *
 * The work saves its response in its own transaction. So a key without one belongs to a request that has changed nothing:
 * a failed one gives it back, and after the end of a process the lock ends.
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
    // Where it cannot be given back, the lock ends by itself.
    await releaseIdempotent(db, scope, key).catch(() => undefined);
    throw error;
  }
}

const nothing: KeptResponse = { response: null, abridged: null };

/** What the version before has stored, for a day. */
const formerHashOf = (body: string): string => createHash('sha256').update(body).digest('hex');

/**
 * Claims the key or waits for the request that has it. Null: the key is ours. Otherwise the earlier request, with its
 * response. Throws a conflict for another body or a long wait.
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
    // Undefined: it was refused meanwhile and gave the key back, so the next claim may succeed.
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
