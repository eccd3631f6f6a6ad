/** Compares accounts at a provider: nothing stored of one account counts for another one. */

import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../../../db/client.ts';
import { findToken } from '../../../db/queries/connections/tokens.ts';
import { requestCancelOfRunning } from '../../../db/queries/runs/cancel.ts';
import { readFromStart } from '../../../db/queries/runs/lanes/conform-lane.ts';
import { dropConnectionLookups } from '../../../db/queries/runs/lookup-cache.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { tokenSlot } from '../../connect/token-store.ts';
import { createRedactor } from '../../core/http/redact.ts';
import { cutText } from '../../core/json/cut-text.ts';
import { storableText } from '../../core/json/storable-text.ts';
import type { ConnectedAccount } from '../../core/resources/connection.ts';
import type { RunRow } from '../../core/resources/run.ts';
import { openToken } from '../../core/source/auth/sealed-token.ts';
import type { Token } from '../../core/source/auth/token.ts';
import type { Authorizable } from '../../core/spec/connection/grants.ts';
import type { OauthAuthorizationCode } from '../../core/spec/schema/auth-schema.ts';
import type { Deps } from '../../deps.ts';

/**
 * The account of a new token, seen from the stored grant. `unknown`: the spec names values of the account, which the stored grant
 * has and the token lacks. A token that is not known to be of another account is otherwise of the `same`.
 */
export type AccountMatch = 'same' | 'other' | 'unknown';

export async function matchAccount(
  { secretBox }: Pick<Deps, 'secretBox'>,
  tx: Db,
  scope: OrgScope,
  {
    connectionId,
    grant,
    token,
  }: {
    readonly connectionId: string;
    readonly grant: Authorizable;
    readonly token: Pick<Token, 'metadata'>;
  },
): Promise<AccountMatch> {
  const sealed = await findToken(tx, scope, { connectionId, slot: tokenSlot(grant.resourceKey) });
  if (!sealed) return 'same';
  const before = openToken(secretBox, sealed, { orgId: scope.orgId, ownerId: connectionId });
  if (areOfOtherAccounts(grant.auth, before, token)) return 'other';
  const known = grant.auth.account?.filter((name) => before.metadata[name] !== undefined) ?? [];
  const isUnknown = known.length > 0 && known.every((name) => token.metadata[name] === undefined);
  return isUnknown ? 'unknown' : 'same';
}

/** True if two tokens are known to be of different accounts. */
export const areOfOtherAccounts = (
  auth: OauthAuthorizationCode,
  one: Pick<Token, 'metadata'>,
  other: Pick<Token, 'metadata'>,
): boolean =>
  namesOf(auth).some((name) => {
    const [known, given] = [one.metadata[name], other.metadata[name]];
    return known !== undefined && given !== undefined && !isDeepStrictEqual(known, given);
  });

const namesOf = ({ account, callback, tokenResponse }: OauthAuthorizationCode): readonly string[] =>
  account ?? Object.keys({ ...callback.metadata, ...tokenResponse.metadata });

const shownMax = 200;

/**
 * Shows only values that the spec declares as the account, or that came with the browser: a token response may have
 * undeclared secrets. Tokens and the `secrets` of the connection are masked.
 */
export function withAccount(
  accounts: readonly ConnectedAccount[],
  { resourceKey, auth }: Authorizable,
  { accessToken, refreshToken, metadata }: Token,
  secrets: readonly string[],
): readonly ConnectedAccount[] {
  const redactor = createRedactor([...secrets, accessToken, ...(refreshToken === null ? [] : [refreshToken])]);
  const values = (auth.account ?? Object.keys(auth.callback.metadata)).flatMap((name) => {
    const value = metadata[name];
    const isShown = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return isShown ? [[name, storableText(cutText(redactor.values(String(value)), shownMax))] as const] : [];
  });
  const others = accounts.filter(({ resource }) => resource !== resourceKey);
  return values.length === 0 ? others : [...others, { resource: resourceKey, values: Object.fromEntries(values) }];
}

/** Running runs are to be canceled after the commit. */
export async function forgetAccount(
  tx: Db,
  scope: OrgScope,
  resources: { readonly connectionId: string; readonly resourceKeys: readonly string[] },
): Promise<readonly RunRow[]> {
  await readFromStart(tx, scope, resources);
  const stopped = await requestCancelOfRunning(tx, scope, resources);
  await dropConnectionLookups(tx, scope, resources.connectionId);
  return stopped;
}
