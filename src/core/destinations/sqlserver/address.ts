import { addressFields, type DestinationOptions } from '../sql/address-fields.ts';
import { type EntraClient, entraClient } from './driver/entra-client.ts';

const fields = addressFields('sqlserver');
const { text, host, port, required, withoutControls, refused } = fields;

/** The egress guard has not vetted `host` yet, a name or an IP. */
export interface SqlServerAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** False: plain text, only to addresses on `EGRESS_ALLOW`. `strict`: TLS before the first message (TDS 8). */
  readonly encrypt: boolean | 'strict';
  /** PEM text of the authority to trust; `null` for the public ones. */
  readonly ca: string | null;
}

interface SqlServerUser {
  readonly user: string;
  readonly password: string;
}

/** The token of an application is yet to be fetched. */
type SqlServerIdentity = SqlServerUser | EntraClient;

export type SqlServerLogin = SqlServerUser | { readonly token: string };

export interface SqlServerOptions {
  readonly address: SqlServerAddress;
  readonly identity: SqlServerIdentity;
}

/**
 * Refuses a named instance (`host\instance`): finding its port would take an unencrypted question to another port.
 *
 * Throws `destination_rejected`; messages repeat no value.
 */
export function parseSqlServerAddress(options: DestinationOptions): SqlServerOptions {
  const address = {
    host: host(text(options, 'host')),
    port: port(text(options, 'port'), 1433),
    database: required('database', text(options, 'database')),
    encrypt: encryptField(options),
    ca: text(options, 'ca'),
  };
  return { address, identity: identityField(options, address) };
}

function encryptField({ encrypt = true }: DestinationOptions): boolean | 'strict' {
  if (typeof encrypt !== 'boolean' && encrypt !== 'strict') throw refused('`encrypt` is not true, false or "strict"');
  return encrypt;
}

function identityField(options: DestinationOptions, { encrypt }: SqlServerAddress): SqlServerIdentity {
  const { authentication } = options;
  if (authentication === undefined || authentication === null) {
    return {
      user: required('user', text(options, 'user')),
      password: withoutControls('password', text(options, 'password') ?? ''),
    };
  }
  if (text(options, 'user') !== null || text(options, 'password') !== null) {
    throw refused('it has `authentication` and `user` or `password`; give one of them');
  }
  if (!encrypt) throw refused('a token would be sent in plain text; set `encrypt` to true');
  return entraClient(authentication, fields);
}
