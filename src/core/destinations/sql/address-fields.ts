import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { AppError } from '../../errors.ts';

/** Templates already resolved. */
export type DestinationOptions = Readonly<Record<string, unknown>>;

/** Every error is `destination_rejected` and repeats no value. */
export interface AddressFields {
  /** `null` when absent or empty. A template gives a number where the param is one. */
  readonly text: (options: DestinationOptions, name: string) => string | null;
  readonly host: (host: string | null) => string;
  readonly port: (port: string | null, fallback: number) => number;
  readonly required: (what: string, value: string | null) => string;
  /** A NUL would end the field in the wire protocol and begin another parameter. */
  readonly withoutControls: (what: string, value: string) => string;
  readonly refused: (why: string, cause?: unknown) => AppError;
}

/** Characters: far beyond the names that servers have, and within the first message of a session. */
const nameMax = 1000;

/** Names of other forms and lengths can never be resolved (RFC 1035, with `_`, which some name servers take). */
const hostName = /^(?=.{1,253}$)([\w-]{1,63}\.)*[\w-]{1,63}\.?$/;

const isHost = (host: string): boolean => isIP(host) !== 0 || hostName.test(domainToASCII(host));

export function addressFields(kind: string): AddressFields {
  const refused = (why: string, cause?: unknown): AppError =>
    new AppError('destination_rejected', `The ${kind} destination is not usable: ${why}.`, { cause });

  const withoutControls = (what: string, value: string): string => {
    if (/\p{Cc}/u.test(value)) throw refused(`the ${what} has a control character`);
    return value;
  };

  return {
    refused,
    withoutControls,
    text(options, name) {
      const value = options[name];
      if (value === undefined || value === null || value === '') return null;
      if (typeof value === 'number') return String(value);
      if (typeof value !== 'string') throw refused(`\`${name}\` is not a text`);
      return value;
    },
    // A host with a slash would be a unix socket or a named instance, one with a comma several hosts.
    host(host) {
      if (!host) throw refused('the host is missing');
      if (/[\s/\\,@%?#]/.test(host) || !isHost(host)) throw refused('the host is not a host name or IP address');
      return withoutControls('host', host);
    },
    port(port, fallback) {
      const number = Number(port ?? fallback);
      if (!Number.isInteger(number) || number < 1 || number > 65_535) {
        throw refused('the port is not between 1 and 65535');
      }
      return number;
    },
    required(what, value) {
      if (!value) throw refused(`the ${what} is missing`);
      // PostgreSQL hangs up without a word when its first message is longer than 10,000 bytes.
      if (value.length > nameMax) throw refused(`the ${what} is longer than ${nameMax} characters`);
      return withoutControls(what, value);
    },
  };
}
