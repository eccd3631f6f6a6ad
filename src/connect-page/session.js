/**
 * The session in this window: its token, and what it asks the service.
 *
 * @import { ConnectView } from '../core/resources/connect-session.ts'
 * @typedef {{ status: number, body: any }} Outcome of a request; status 0: the network failed
 */

const sessionId = location.pathname.split('/').at(-1) ?? '';
const query = new URLSearchParams(location.search);

/** Storage of this tab alone, which a frame may be denied. */
const kept = {
  /** @param {string} name */
  read(name) {
    try {
      return sessionStorage.getItem(`${sessionId} ${name}`);
    } catch {
      return null;
    }
  },
  /** @param {string} name @param {string} value */
  write(name, value) {
    try {
      sessionStorage.setItem(`${sessionId} ${name}`, value);
    } catch {
      // Without it a reload needs the link again.
    }
  },
};

/** The token leaves the address at once, so that neither history nor a copied address has it. */
const token = (() => {
  const given = location.hash.slice(1);
  if (given !== '') {
    kept.write('token', given);
    history.replaceState(null, '', `${location.pathname}${location.search}`);
  }
  return given || kept.read('token') || '';
})();

const isFramed = window.parent !== window;
const isPopup = query.has('popup') || kept.read('popup') !== null;

/** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<Outcome>} */
async function ask(method, path, body) {
  try {
    const response = await fetch(`../api/v1/connect${path}`, {
      method,
      headers: { 'x-service-connect-token': token, 'content-type': 'application/json' },
      cache: 'no-store',
      credentials: 'same-origin',
      referrerPolicy: 'no-referrer',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  } catch {
    return { status: 0, body: null };
  }
}

/** Notifies the page around this one, if it may know. @param {ConnectView | null} view @param {Record<string, unknown>} event */
function tell(view, event) {
  if (!isFramed) return;
  const [around] = location.ancestorOrigins ?? [];
  const allowed = (view?.allowedOrigins ?? []).filter((origin) => around === undefined || origin === around);
  for (const origin of allowed) window.parent.postMessage({ source: 'connector-connect', sessionId, ...event }, origin);
}

/** Another window of this browser has come back from the provider. */
const channel = 'BroadcastChannel' in window ? new BroadcastChannel(`connect ${sessionId}`) : null;
