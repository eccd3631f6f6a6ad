import { addressFields, type DestinationOptions } from '../sql/address-fields.ts';

const { text, host, port, required, withoutControls, refused } = addressFields('postgres');

type SslMode = (typeof sslModes)[number];

const sslModes = ['disable', 'require', 'verify-full'] as const;

/** The egress guard has not vetted `host` yet, a name or an IP. */
export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Empty when the customer gave none: the driver then reads no password file. */
  readonly password: string;
  readonly ssl: SslMode;
  /** PEM text of the authority to trust; `null` for the public ones. */
  readonly ca: string | null;
}

/**
 * `url`, or `host`, `port`, `database`, `user`, `password`; `ssl` and `ca` with either. An sslmode in the url takes precedence
 * over `ssl`.
 *
 * Throws `destination_rejected`; messages repeat no value.
 */
export function parsePostgresAddress(options: DestinationOptions): PostgresAddress {
  const url = text(options, 'url');
  const parts = url === null ? fieldParts(options) : urlParts(url);
  return {
    host: host(parts.host),
    port: port(parts.port, 5432),
    database: required('database', parts.database),
    user: required('user', parts.user),
    password: parts.password === null ? '' : withoutControls('password', parts.password),
    ssl: parts.ssl ?? sslField(options),
    ca: text(options, 'ca'),
  };
}

interface Parts {
  readonly host: string | null;
  readonly port: string | null;
  readonly database: string | null;
  readonly user: string | null;
  readonly password: string | null;
  readonly ssl: SslMode | null;
}

function fieldParts(options: DestinationOptions): Parts {
  return {
    host: text(options, 'host'),
    port: text(options, 'port'),
    database: text(options, 'database'),
    user: text(options, 'user'),
    password: text(options, 'password'),
    ssl: null,
  };
}

/** Parses a URL without the driver's parser, which prefers `?host=` over the authority and reads files named in `sslcert`. */
function urlParts(input: string): Parts {
  const url = URL.parse(input);
  if (!url || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw refused('`url` is not of the form postgres://user:password@host:port/database');
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port || null,
    database: decoded('database', url.pathname.slice(1)),
    user: decoded('user', url.username),
    password: decoded('password', url.password),
    ssl: urlSslMode(url),
  };
}

function urlSslMode(url: URL): SslMode | null {
  let mode: SslMode | null = null;
  for (const [name, value] of url.searchParams) {
    if (name === 'sslmode') mode = sslMode(value);
    else if (name === 'ssl') mode = sslSwitch(value);
    else throw refused('`url` has a query parameter other than sslmode or ssl; remove it');
  }
  if (url.hash) throw refused('`url` has a fragment (#…); write # in a password as %23');
  return mode;
}

function sslSwitch(value: string): SslMode {
  if (value === 'true' || value === '1') return 'verify-full';
  return value === 'false' || value === '0' ? 'disable' : sslMode(value);
}

function sslField(options: DestinationOptions): SslMode {
  const word = text(options, 'ssl');
  return word === null ? 'verify-full' : sslMode(word);
}

function sslMode(word: string): SslMode {
  const mode = sslModes.find((known) => known === word);
  if (!mode) throw refused('the ssl word must be verify-full, require or disable');
  return mode;
}

function decoded(what: string, part: string): string | null {
  try {
    return part === '' ? null : decodeURIComponent(part);
  } catch (cause) {
    throw refused(`the ${what} in \`url\` is not percent-encoded correctly`, cause);
  }
}
