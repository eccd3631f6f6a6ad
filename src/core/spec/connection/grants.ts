import type { OauthAuthorizationCode } from '../schema/auth-schema.ts';
import { durationMs } from '../schema/duration.ts';
import type { ConnectorSpec } from '../schema/spec-schema.ts';

export interface Authorizable {
  /** The resource with its own auth, or `null` for the auth of the connection. */
  readonly resourceKey: string | null;
  readonly auth: OauthAuthorizationCode;
}

/** Parts of a spec that a customer authorizes at a provider. */
export function authorizableOf({
  auth,
  resources,
}: Pick<ConnectorSpec, 'auth' | 'resources'>): readonly Authorizable[] {
  const auths = [{ resourceKey: null, auth }, ...resources.map((one) => ({ resourceKey: one.key, auth: one.auth }))];
  return auths.flatMap((one) =>
    one.auth?.kind === 'oauth2_authorization_code' ? [{ resourceKey: one.resourceKey, auth: one.auth }] : [],
  );
}

/** Keys of the OAuth apps of the org that a spec names. */
export const namedApps = (spec: Pick<ConnectorSpec, 'auth' | 'resources'>): readonly string[] => [
  ...new Set(authorizableOf(spec).flatMap(({ auth }) => auth.app ?? [])),
];

/** Seconds after which an unused refresh token is refreshed; `null` for never. */
export function keepAliveSeconds(auth: ConnectorSpec['auth']): number | null {
  if (auth.kind !== 'oauth2_authorization_code' || auth.refresh.keepAlive === undefined) return null;
  return Math.floor((durationMs(auth.refresh.keepAlive) ?? 0) / 1000) || null;
}
