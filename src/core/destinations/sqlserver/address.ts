import { addressFields, type DestinationOptions } from '../sql/address-fields.ts';
import { type EntraClient, entraClient } from './driver/entra-client.ts';

const fields = addressFields('sqlserver');
const { text, host, port, required, withoutControls, refused } = fields;

/** Where a customer's SQL Server is, checked and complete. Host is a name or an IP, not yet checked. */
export interface SqlServerAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /**
   * Whether the connection is encrypted. False: plain text, only to addresses on `EGRESS_ALLOW`. `strict`: TLS before
   * the first message (TDS 8).
   */
  readonly encrypt: boolean | 'strict';
  /** PEM text of the authority to trust; null for the public ones. */
  readonly ca: string | null;
}

/** A user of the database server. */
interface SqlServerUser {
  readonly user: string;
  readonly password: string;
}

/** Who logs in: a user, or an application of Entra ID whose token has to be fetched. */
type SqlServerIdentity = SqlServerUser | EntraClient;

/** What the driver logs in with: a user with its password, or an access token of Entra ID. */
export type SqlServerLogin = SqlServerUser | { readonly token: string };

/** A destination's options, read. */
export interface SqlServerOptions {
  readonly address: SqlServerAddress;
  readonly identity: SqlServerIdentity;
}

/**
 * Reads a destination's options (templates already resolved). A named instance (`host\instance`) is refused: finding
 * its port would take an unencrypted question to another port.
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
