import type { Context, Handler } from 'hono';
import { callerWithKey } from '../api/auth.ts';
import { statusOf } from '../api/errors.ts';
import { addressOf } from '../api/gates/rate-limits.ts';
import type { ApiEnv } from '../api/serve-route.ts';
import { parseApiKey } from '../core/crypto/api-key.ts';
import { readForm } from './form-body.ts';
import { field } from './parts/form.ts';
import { document, mark } from './parts/frame.ts';
import { type Html, html } from './parts/html.ts';
import type { ConsoleDeps } from './route.ts';
import { requireOwnOrigin } from './same-site.ts';
import { respondFailure } from './serve-page.ts';
import { closeSession, openSession } from './session.ts';
import { withinConsole } from './within-console.ts';

export const signInPath = '/console/sign-in';
export const signOutPath = '/console/sign-out';

export const showSignIn: Handler<ApiEnv> = async (c) => c.html(await signInPage({ to: c.req.query('to') ?? '' }));

export const signIn =
  (deps: ConsoleDeps): Handler<ApiEnv> =>
  async (c) => {
    try {
      requireOwnOrigin(c.req.raw.headers, { url: c.req.url, publicUrl: deps.publicUrl });
      const { key, to } = await readForm(c.req.raw);
      const given = typeof key === 'string' ? key.trim() : '';
      const lookupId = parseApiKey(given);
      const caller = await callerWithKey(deps, given);
      if (lookupId === null || !caller) {
        await deps.limits?.countRefused(addressOf(c));
        return c.html(await signInPage({ to: textOf(to), isRefused: true }), statusOf.unauthorized);
      }
      c.set('orgId', caller.scope.orgId);
      await openSession(c, deps, lookupId);
      return c.redirect(withinConsole(textOf(to)), 303);
    } catch (error) {
      return respondFailure(c, { error, open: null, log: deps.log });
    }
  };

export const signOut =
  (deps: ConsoleDeps): Handler<ApiEnv> =>
  async (c: Context<ApiEnv>) => {
    try {
      requireOwnOrigin(c.req.raw.headers, { url: c.req.url, publicUrl: deps.publicUrl });
      closeSession(c, deps);
      return c.redirect(signInPath, 303);
    } catch (error) {
      return respondFailure(c, { error, open: null, log: deps.log });
    }
  };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const signInPage = ({ to, isRefused = false }: { readonly to: string; readonly isRefused?: boolean }): Html =>
  document(
    'Sign in',
    html`<body><main class="alone">
  <p class="brand">${mark}<span>Connector Sync</span></p>
  <h1>Sign in</h1>
  ${isRefused ? html`<p class="notice bad" role="alert">This key is not valid: it is mistyped, revoked or expired.</p>` : ''}
  <form method="post" action="${signInPath}" class="stack">
    <input type="hidden" name="to" value="${to}">
    ${field({
      name: 'key',
      label: 'API key',
      type: 'password',
      required: true,
      autocomplete: 'current-password',
      hint: 'It begins with ck_. You see what its org has, and can do what it may.',
    })}
    <button class="primary">Sign in</button>
  </form>
  <p class="hint">Without a key: the operator makes the first one, by <code>npm run admin -- org create</code>.</p>
</main></body>`,
  );
