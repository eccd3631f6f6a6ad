import { addressFields, type Options } from './address-fields.ts';

const { text, host, port, required, withoutControls, refused } = addressFields('sqlserver');

/** Where a customer's SQL Server is, checked and complete. Host is a name or an IP, not yet judged. */
export interface SqlServerAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** False: plain text, only to addresses on `EGRESS_ALLOW`. */
  readonly encrypt: boolean;
  /** PEM text of the authority to trust; null for the public ones. */
  readonly ca: string | null;
}

/** A user of the database server. */
export interface SqlServerUser {
  readonly user: string;
  readonly password: string;
}

/** With what the driver logs in. */
export type SqlServerLogin = SqlServerUser;

/** A destination's options, read. */
export interface SqlServerOptions {
  readonly address: SqlServerAddress;
  readonly identity: SqlServerUser;
}

/**
 * Reads a destination's options (templates already resolved). A named instance (`host\instance`) is refused: finding
 * its port would take an unencrypted question to another port.
 *
 * Throws `destination_rejected`; messages repeat no value.
 */
export function parseSqlServerOptions(options: Options): SqlServerOptions {
  return {
    address: {
      host: host(text(options, 'host')),
      port: port(text(options, 'port'), 1433),
      database: required('database', text(options, 'database')),
      encrypt: encryptField(options),
      ca: text(options, 'ca'),
    },
    identity: {
      user: required('user', text(options, 'user')),
      password: withoutControls('password', text(options, 'password') ?? ''),
    },
  };
}

function encryptField({ encrypt = true }: Options): boolean {
  if (typeof encrypt !== 'boolean') throw refused('`encrypt` is not true or false');
  return encrypt;
}
