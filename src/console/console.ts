/**
 * The console: server-rendered pages for integrators and operators, without rules of its own. Pages call the same
 * queries, and forms the same functions of `src/control`, as the REST API, in the scope of the session's API key.
 * Everything works without the script. It refreshes pages, shows local times and validates specs while they are typed.
 */
import type { Context, Handler, Hono } from 'hono';
import { HttpRejection } from '../api/errors.ts';
import type { ApiEnv } from '../api/serve-route.ts';
import { assets } from './assets.ts';
import { consoleRoutes } from './pages/index.ts';
import type { ConsoleDeps } from './route.ts';
import { guarded, noPage, respondFailure, servePage } from './serve-page.ts';
import { findSession } from './session.ts';
import { showSignIn, signIn, signInPath, signOut, signOutPath } from './sign-in.ts';

export function serveConsole(app: Hono<ApiEnv>, deps: ConsoleDeps): void {
  app.use('/console/*', guarded);
  app.get('/', (c) => c.redirect('/console', 302));
  const methods = new Map<string, string[]>();
  const on = (method: 'get' | 'post', path: string, handler: Handler<ApiEnv>) => {
    app[method](path, handler);
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'get' ? ['GET', 'HEAD'] : ['POST'])]);
  };
  for (const [path, serve] of assets) on('get', path, serve);
  on('get', signInPath, showSignIn);
  on('post', signInPath, signIn(deps));
  on('post', signOutPath, signOut(deps));
  for (const route of consoleRoutes) on(route.method, `/console${route.path}`, servePage(route, deps));

  const refuse = async (c: Context<ApiEnv>, error: HttpRejection) =>
    respondFailure(c, { error, open: await findSession(c, deps), log: deps.log });
  for (const [path, allowed] of methods) app.all(path, (c) => refuse(c, otherMethod(allowed.join(', '))));
  app.all('/console/*', (c) => refuse(c, noPage()));
}

const otherMethod = (allow: string): HttpRejection =>
  new HttpRejection('other_method', `This address allows only ${allow}.`, { headers: { allow } });
