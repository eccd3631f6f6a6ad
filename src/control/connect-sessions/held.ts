import * as v from 'valibot';
import type { OrgScope } from '../../../db/scope.ts';
import type { SealedSecret, SecretBox } from '../../core/crypto/secret-box.ts';
import { JsonObject, mapOf } from '../../core/json/json-object.ts';

const Values = v.object({ params: JsonObject, secrets: JsonObject });

const Held = v.object({
  /** What the org fixed; `null` once a connection has it. */
  fixed: v.nullable(Values),
  /** What the customer entered for a connection that is in use; `null`: nothing yet, or the connection has it. */
  entered: v.nullable(Values),
  /** By slot the code of a grant that waits; `null`: the connection has the grant. */
  codes: mapOf(v.string(), v.nullable(v.string())),
  /** By slot the hash of what only the browser that consented has. */
  proofs: mapOf(v.string(), v.string()),
  /** Whether the customer chose another address, to which no earlier grant may be sent. */
  isMoved: v.boolean(),
});
/** What a session seals until it ends. */
export type Held = v.InferOutput<typeof Held>;

const kind = 'connect-session';

export const sealHeld = (secretBox: SecretBox, { orgId }: OrgScope, sessionId: string, held: Held): SealedSecret =>
  secretBox.seal(JSON.stringify(held), { orgId, ownerId: sessionId, kind });

/** Nothing for a session that has ended. */
export function openHeld(
  secretBox: SecretBox,
  { orgId }: OrgScope,
  { id, sealed }: { readonly id: string; readonly sealed: SealedSecret | null },
): Held {
  if (!sealed) return { fixed: null, entered: null, codes: {}, proofs: {}, isMoved: false };
  return v.parse(Held, JSON.parse(secretBox.open(sealed, { orgId, ownerId: id, kind })));
}
