import { AppError } from '../../errors.ts';
import type { OauthAuthorizationCode, OauthClientCredentials } from '../../spec/schema/auth-schema.ts';
import type { AuthValues } from './auth-values.ts';

type Client = Pick<OauthAuthorizationCode | OauthClientCredentials, 'clientId' | 'clientSecret' | 'clientAuth'> &
  Pick<OauthAuthorizationCode, 'app'>;

/** Throws `auth_failed`. */
export async function clientIdOf({ app, clientId }: Pick<Client, 'app' | 'clientId'>, values: AuthValues) {
  return app === undefined ? await values.required(clientId ?? '', 'auth.clientId') : (await values.app(app)).clientId;
}

/** The secret is empty for a public client. Throws `auth_failed`. */
export async function clientOf(
  auth: Client,
  values: AuthValues,
): Promise<{ readonly id: string; readonly secret: string }> {
  const isPublic = auth.clientAuth === 'none';
  if (auth.app === undefined) {
    const id = await clientIdOf(auth, values);
    return { id, secret: isPublic ? '' : await values.secret(auth.clientSecret ?? '', 'auth.clientSecret') };
  }
  const { clientId: id, clientSecret } = await values.app(auth.app);
  if (isPublic) return { id, secret: '' };
  if (clientSecret === null) {
    const message = `The OAuth app "${auth.app}" of the org has no client secret: set it by PATCH /api/v1/oauth-apps/:id.`;
    throw new AppError('auth_failed', message);
  }
  values.mask(clientSecret);
  return { id, secret: clientSecret };
}
