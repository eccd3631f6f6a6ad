import * as v from 'valibot';
import { Timestamp } from './values.ts';

/** Without the key itself, which is shown once when created. */
export const ApiKeyRow = v.object({
  id: v.pipe(v.string(), v.examples(['key_01kaemm0dce7xb1k4c1m1f2p3q'])),
  last4: v.pipe(v.string(), v.description('The last four characters of the key.')),
  workspaceId: v.pipe(
    v.nullable(v.string()),
    v.description('The workspace stored with the key, which restricts nothing. Null: none.'),
  ),
  createdBy: v.pipe(
    v.nullable(v.string()),
    v.description('The id of the key that created it. Null: the operator did.'),
    v.examples(['key_01kaemm0dce7xb1k4c1m1f2p3r']),
  ),
  createdAt: Timestamp,
  expiresAt: v.pipe(v.nullable(Timestamp), v.description('Null: the key does not expire.')),
  revokedAt: v.nullable(Timestamp),
  lastUsedAt: v.pipe(v.nullable(Timestamp), v.description('Kept to the minute.')),
});
export type ApiKeyRow = v.InferOutput<typeof ApiKeyRow>;
