/** Explains why a local read failed. */
import type { AppError } from '../../core/errors.ts';
import type { LoggedCall } from '../../core/http/logged-call.ts';
import type { ConnectorSpec, Resource } from '../../core/spec/schema/spec-schema.ts';
import type { LocalValues } from './connection-values.ts';
import { howToAllow } from './local-egress.ts';

export interface ShownFailure {
  readonly code: string;
  readonly message: string;
}

interface FailedRead {
  readonly spec: ConnectorSpec;
  readonly resource: Resource;
  readonly values: LocalValues;
  readonly calls: readonly LoggedCall[];
}

export function shownFailure({ code, message }: AppError, { spec, resource, values, calls }: FailedRead): ShownFailure {
  const blocked = calls.findLast((call) => call.errorCode === code);
  const advice =
    code === 'egress_blocked'
      ? howToAllow(message, blocked)
      : code === 'auth_failed'
        ? authAdvice(message, resource.auth ?? spec.auth, values)
        : null;
  return { code, message: advice === null ? message : `${message} ${advice}` };
}

/** The service's messages name a connection; a local read has none. */
function authAdvice(message: string, auth: ConnectorSpec['auth'], { secrets }: LocalValues): string {
  if (/\/oauth\//.test(message)) {
    return (
      'Here nobody can sign in: give a token with --access-token - or --access-token env:NAME, ' +
      'or authorize a connection on a service and use: css sync CONNECTION RESOURCE --follow'
    );
  }
  const used = new Set([...JSON.stringify(auth).matchAll(/\bsecrets\.(\w+)/g)].map(([, name = '']) => name));
  const missing = [...used].filter((name) => !Object.hasOwn(secrets, name));
  return missing.length === 0
    ? 'Here the credentials are those of --secret and --param.'
    : `Here a secret is missing: ${missing.map((name) => `--secret ${name}=-`).join(' ')}`;
}
