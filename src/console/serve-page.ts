import type { Context, Handler } from 'hono';
import { findPlace, type OrgPlace } from '../../db/queries/orgs/workspaces.ts';
import { HttpRejection, toErrorResponse } from '../api/errors.ts';
import type { ApiEnv } from '../api/serve-route.ts';
import { formTokenField, readForm } from './form-body.ts';
import { failure, failureTitle } from './parts/failure.ts';
import { document, framed } from './parts/frame.ts';
import { type Html, html } from './parts/html.ts';
import type { ConsoleDeps, ConsoleRoute, Redirect, Section, Visit, VisitOutcome } from './route.ts';
import { sections } from './route.ts';
import { requireFormToken, requireOwnOrigin } from './same-site.ts';
import { closeSession, findSession, isRefresh, type OpenSession, renewSession } from './session.ts';
import { withinConsole } from './within-console.ts';

/** Only the console's own files, no frame around it, no form to elsewhere. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Those that the frame names; it says when there are more. */
const workspacesMax = 4;

export const guarded: Handler<ApiEnv> = async (c, next) => {
  c.header('content-security-policy', policy);
  // Without any referrer, browsers would not name the origin of a form either.
  c.header('referrer-policy', 'same-origin');
  c.header('x-frame-options', 'DENY');
  await next();
};

/** Order: session, origin, checks, work, response. Failures become pages too. */
export function servePage(route: ConsoleRoute, deps: ConsoleDeps): Handler<ApiEnv> {
  return async (c) => {
    let open: OpenSession | null = null;
    try {
      if (route.method === 'post') requireOwnOrigin(c.req.raw.headers, { url: c.req.url, publicUrl: deps.publicUrl });
      open = await findSession(c, deps);
      if (!open) return toSignIn(c, deps);
      c.set('caller', open.caller);
      c.set('orgId', open.caller.scope.orgId);
      await deps.limits?.countRequest(open.caller.keyId);
      const opened = open;
      return await deps.requests.run(open.caller.scope.orgId, () => visitPage(c, opened, { route, deps }));
    } catch (error) {
      return respondFailure(c, { error, open, log: deps.log });
    }
  };
}

async function visitPage(
  c: Context<ApiEnv>,
  open: OpenSession,
  { route, deps }: { readonly route: ConsoleRoute; readonly deps: ConsoleDeps },
): Promise<Response> {
  const { [formTokenField]: token, ...fields } = route.method === 'post' ? await readForm(c.req.raw) : {};
  if (route.method === 'post') requireFormToken(open.session, token);
  const visit = { ...visitOf(c, open), pathParams: c.req.param(), queries: c.req.queries(), fields };
  const outcome = await route.prepare(visit)(deps);
  await renewSession(c, deps, open.session);
  // The frame of a refresh is not looked at.
  const place =
    'body' in outcome && !isRefresh(c) ? await findPlace(deps.db, visit.scope, { workspacesMax }) : undefined;
  return await respond(c, outcome, { visit, place });
}

const visitOf = (c: Context<ApiEnv>, { caller, session }: OpenSession): Visit => {
  const { pathname, search } = new URL(c.req.url);
  return { scope: caller.scope, caller, session, requestId: c.get('requestId'), address: pathname + search };
};

interface Shown {
  readonly visit: Visit;
  /** Absent where the frame is not looked at. */
  readonly place: OrgPlace | undefined;
}

async function respond(c: Context<ApiEnv>, outcome: VisitOutcome, { visit, place }: Shown): Promise<Response> {
  if ('json' in outcome) return c.json(outcome.json);
  if ('to' in outcome) return c.redirect(withNotice(outcome), 303);
  return c.html(await framed(outcome, visit, place), outcome.status ?? 200);
}

function withNotice({ to, notice, count }: Redirect): string {
  if (notice === undefined) return to;
  const url = new URL(to, 'http://console');
  url.searchParams.set('notice', notice);
  if (count === undefined) url.searchParams.delete('count');
  else url.searchParams.set('count', String(count));
  return url.pathname + url.search;
}

/**
 * Redirects to sign-in. A link from another site sends no cookies of this site, so a page of this site first repeats
 * the request.
 */
function toSignIn(c: Context<ApiEnv>, deps: ConsoleDeps): Response | Promise<Response> {
  const { pathname, search } = new URL(c.req.url);
  const isGet = c.req.method === 'GET';
  if (isGet && c.req.header('sec-fetch-site') === 'cross-site') return c.html(cameFromElsewhere(pathname + search));
  closeSession(c, deps);
  const to = isGet ? `?${new URLSearchParams({ to: pathname + search }).toString()}` : '';
  return c.redirect(`/console/sign-in${to}`, 303);
}

const cameFromElsewhere = (address: string): Html =>
  html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Connector Sync</title>
<meta http-equiv="refresh" content="0; url=${address}"></head><body><a href="${address}">Go on</a></body></html>`;

interface Failed {
  readonly error: unknown;
  /** `null` without a session. */
  readonly open: OpenSession | null;
  readonly log: ConsoleDeps['log'];
}

/** JSON of the API for the script, otherwise a page. */
export async function respondFailure(c: Context<ApiEnv>, { error, open, log }: Failed): Promise<Response> {
  const requestId = c.get('requestId');
  const { status, body, headers, unexpected } = toErrorResponse(error, requestId);
  if (unexpected) log.error('request failed', { requestId, error });
  const { 'www-authenticate': _asks, ...shown } = headers;
  for (const [name, value] of Object.entries(shown)) c.header(name, value);
  if (c.req.header('accept') === 'application/json') return c.json(body, status);
  const content = failure(body, { status, back: backFrom(c) });
  const title = failureTitle(status);
  if (!open) return c.html(await document(title, html`<body><main class="alone">${content}</main></body>`), status);
  const view = { title, section: sectionOf(c.req.path), body: content };
  return c.html(await framed(view, visitOf(c, open)), status);
}

const sectionOf = (path: string): Section | null => {
  const [, , folder = 'overview'] = path.split('/');
  return sections.find((section) => section === folder) ?? null;
};

function backFrom(c: Context<ApiEnv>): string {
  const referrer = c.req.header('referer');
  if (c.req.method === 'GET' || referrer === undefined || !URL.canParse(referrer)) return '/console';
  const { pathname, search, host } = new URL(referrer);
  return host === new URL(c.req.url).host ? withinConsole(pathname + search) : '/console';
}

export const noPage = (): HttpRejection =>
  new HttpRejection('unknown_path', 'There is no such page. The navigation lists those that there are.');
