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

/** Secrets leave the address at once, so that neither history nor a copied address has them. */
const given = location.hash.slice(1);
if (given !== '') history.replaceState(null, '', `${location.pathname}${location.search}`);

/** Shows that the person of this browser has just consented. */
const newProof = given.startsWith('proof=') ? given.slice('proof='.length) : null;
if (given !== '' && newProof === null) kept.write('token', given);
const token = (newProof === null && given) || kept.read('token') || '';

/** Of each consent of this browser, the newest last. @type {string[]} */
const proofs = JSON.parse(kept.read('proofs') ?? '[]');

/** @param {string} proof */
function keepProof(proof) {
  if (!proofs.includes(proof)) proofs.push(proof);
  kept.write('proofs', JSON.stringify(proofs.slice(-200)));
}
if (newProof !== null) keepProof(newProof);

const isFramed = window.parent !== window;
/** The window for the provider: `framed` if a frame opened it. */
const popup = query.get('popup') ?? kept.read('popup');

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

/** Other windows of this browser that are in no frame of another site. */
const channel = 'BroadcastChannel' in window ? new BroadcastChannel(`connect ${sessionId}`) : null;

/** Tells the window that opened this one that it is back, and hands it the proof. */
function tellBack() {
  const message = { source: 'connector-connect', sessionId, proof: newProof };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of its own origin
  channel?.postMessage(message);
  // A frame of another site hears no channel.
  window.opener?.postMessage(message, location.origin);
}

/** True if another window has heard that this one is back, over the channel. @returns {Promise<boolean>} */
const isHeard = new Promise((resolve) => {
  channel?.addEventListener('message', ({ data }) => data?.isHeard && resolve(true));
  setTimeout(() => resolve(false), 1000);
});

/** @param {() => void} goOn */
function hearBack(goOn) {
  /** @param {MessageEvent} event */
  const hear = ({ data, origin }) => {
    if (origin !== location.origin || data?.sessionId !== sessionId || proofs.includes(data.proof)) return;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of its own origin
    channel?.postMessage({ isHeard: true });
    if (typeof data.proof === 'string') keepProof(data.proof);
    goOn();
  };
  channel?.addEventListener('message', hear);
  window.addEventListener('message', hear);
}
