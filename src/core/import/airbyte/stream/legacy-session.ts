import { type Component, pathAt, textOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { step } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { addressText, evaluate, knownText, templateOf } from '../render.ts';
import { loginUrl } from './request-draft.ts';
import { authScope } from './scopes.ts';

export function readLegacySession(
  authenticator: Component,
  requester: Component,
  config: Config,
): { readonly auth: Readonly<Record<string, unknown>>; readonly notes: readonly string[] } {
  const scope = authScope({ component: authenticator, config });
  const known = (key: string): string =>
    knownText(textOf(authenticator, key) ?? '', scope, pathAt(authenticator, key)) ||
    refuse(authenticator.path, `it has no ${key}`);
  const credential = (key: string): string => {
    const value = asText(templateOf(evaluate(textOf(authenticator, key) ?? '', scope, pathAt(authenticator, key))));
    config.require(value);
    return value;
  };
  const token = step(known('session_token_response_key'));
  if (token === null) return refuse(pathAt(authenticator, 'session_token_response_key'), 'expected a name');
  const given = textOf(authenticator, 'session_token');
  return {
    auth: {
      kind: 'session',
      login: {
        method: 'POST',
        url: joined(loginUrl(addressOf(requester, config)), known('login_url')),
        body: { json: { username: credential('username'), password: credential('password') } },
      },
      tokenFrom: `body.${token}`,
      put: { in: 'header', name: known('header'), prefix: '' },
    },
    notes:
      given === undefined || given === '' ? [] : ['Every connection logs in with a password, none with its own token.'],
  };
}

/** The CDK concatenates both texts and may rely on a slash in the connection's value; here it is written out. */
function joined(base: string, path: string): string {
  const at = base.lastIndexOf('{{ ');
  if (!base.endsWith(' }}') || path.startsWith('/')) return base + path;
  return `${base.slice(0, at)}{{ $replace(${base.slice(at + 3, -3)}, /\\/$/, "") }}/${path}`;
}

function addressOf(requester: Component, config: Config): string {
  const key = textOf(requester, 'url') === undefined ? 'url_base' : 'url';
  const scope = authScope({ component: requester, config });
  return addressText(textOf(requester, key) ?? '', scope, pathAt(requester, key));
}
