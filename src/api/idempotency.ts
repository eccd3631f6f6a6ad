import { createHash } from 'node:crypto';
import type { Db } from '../../db/client.ts';
import {
  claimIdempotent,
  type EarlierRequest,
  findIdempotent,
  type IdempotentRequest,
  releaseIdempotent,
  saveIdempotent,
} from '../../db/queries/idempotency.ts';
import type { OrgScope } from '../../db/scope.ts';
import { AppError, conflict, invalid } from '../core/errors.ts';

/** A request that carries an `Idempotency-Key`. */
export interface KeyedRequest extends Omit<IdempotentRequest, 'key'> {
  readonly key: string;
  /** The parsed body; undefined when the endpoint reads none. */
  readonly document: unknown;
  /** Whether the answer may be given again; `conflict`: it holds what exists only once. */
  readonly repeated: 'same_answer' | 'conflict';
}

/** An answer as it goes out, and whether it is the one of an earlier request. */
export interface IdempotentAnswer {
  readonly status: number;
  readonly json: string;
  readonly replayed: boolean;
}

/** Longer than any request takes (the server ends one after 30 s): then the first one died with its process. */
const lockSeconds = 60;
/** As Stripe: printable, at most 255 characters. */
const keyForm = /^[\u0020-\u007e]{1,255}$/;

/**
 * Does the work once per key and day; a repetition gets the first answer. Throws a conflict for another body under the
 * same key, while the first request is still being answered, and where the answer may not be given twice.
 *
 * A refused request gives its key back, because it changed nothing. One that failed unexpectedly keeps it until the
 * lock ends: what it changed is not known.
 */
export async function answerOnce(
  db: Db,
  scope: OrgScope,
  { document, repeated, ...request }: KeyedRequest,
  work: () => Promise<Omit<IdempotentAnswer, 'replayed'>>,
): Promise<IdempotentAnswer> {
  if (!keyForm.test(request.key)) throw badKey();
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(document) ?? '')
    .digest('hex');
  if (!(await claimIdempotent(db, scope, { ...request, bodyHash, lockSeconds }))) {
    return replay(await findIdempotent(db, scope, request), bodyHash);
  }
  try {
    const answer = await work();
    const response = repeated === 'same_answer' ? answer.json : null;
    await saveIdempotent(db, scope, { ...request, status: answer.status, response });
    return { ...answer, replayed: false };
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') await releaseIdempotent(db, scope, request);
    throw error;
  }
}

function replay(earlier: EarlierRequest | undefined, bodyHash: string): IdempotentAnswer {
  if (earlier && earlier.bodyHash !== bodyHash) {
    throw conflict('This Idempotency-Key was used with another body: take a new key for a new request.');
  }
  if (!earlier || earlier.status === null) {
    throw conflict('The first request with this Idempotency-Key is still being answered: repeat it in a moment.');
  }
  if (earlier.response === null) {
    throw conflict('This Idempotency-Key was used: the answer holds a secret that is shown only once.');
  }
  return { status: earlier.status, json: earlier.response, replayed: true };
}

const badKey = (): AppError =>
  invalid('The Idempotency-Key is not valid.', [
    { code: 'schema', path: 'Idempotency-Key', message: 'expected 1 to 255 printable ASCII characters' },
  ]);
