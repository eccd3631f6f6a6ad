import type { CatalogueConnector } from '../../../core/resources/catalogue.ts';
import type { Html } from '../../parts/html.ts';
import { badge, type Tone } from '../../parts/status.ts';

type Verified = CatalogueConnector['verifiedAgainst'];

const verifications: Readonly<Record<Verified['kind'], readonly [Tone, string]>> = {
  server: ['good', 'Real server'],
  description: ['idle', 'API description'],
  tests: ['idle', 'Own tests'],
};

export const verificationBadge = ({ kind }: Pick<Verified, 'kind'>): Html => badge(...verifications[kind]);

/** The day of a verification; only tests have none, since they run with each change. */
export const verifiedOn = ({ on }: Pick<Verified, 'on'>): string => on ?? 'each change';

const authKinds: Readonly<Record<string, string>> = {
  none: 'No credentials',
  api_key: 'API key',
  basic: 'User and password',
  bearer: 'Token',
  headers: 'Headers with secrets',
  session: 'Sign-in with a password',
  jwt: 'Signed token (JWT)',
  hmac: 'Signed requests (HMAC)',
  oauth2_client_credentials: 'OAuth 2.0 of an application',
  oauth2_authorization_code: 'OAuth 2.0 with consent of the customer',
};

export const authWords = (kind: string): string => (Object.hasOwn(authKinds, kind) ? (authKinds[kind] ?? kind) : kind);
