/** Refreshes a visible page, and replaces the parts that differ. */

/** @type {Map<string, string>} The server's last markup of each part, before times were put into the reader's zone. */
const sent = new Map();
for (const part of document.querySelectorAll('[data-live]')) sent.set(part.id, part.innerHTML);
/** Failed requests in a row; each doubles the wait. */
let failures = 0;

/** @param {Document} page */
const refreshSeconds = (page) => Number(page.querySelector('main')?.dataset['refresh'] ?? 0);

/** @param {number} seconds */
function refreshAfter(seconds) {
  if (seconds > 0) setTimeout(() => void refresh(seconds), 1000 * Math.min(seconds * 2 ** failures, 60));
}

/** @param {number} seconds */
async function refresh(seconds) {
  if (document.visibilityState === 'hidden') {
    document.addEventListener('visibilitychange', () => void refresh(seconds), { once: true });
    return;
  }
  try {
    const response = await fetch(location.href, { headers: { 'x-console-refresh': '1' }, redirect: 'manual' });
    if (response.type === 'opaqueredirect') {
      // The session is over: reloading leads to sign-in.
      location.reload();
      return;
    }
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of page.querySelectorAll('[data-live]')) replace(part);
    failures = 0;
    refreshAfter(refreshSeconds(page));
  } catch {
    failures += 1;
    refreshAfter(seconds);
  }
}

/** @param {Element} fresh */
function replace(fresh) {
  const shown = document.getElementById(fresh.id);
  if (!shown || sent.get(fresh.id) === fresh.innerHTML || isInUse(shown)) return;
  sent.set(fresh.id, fresh.innerHTML);
  const open = new Set([...shown.querySelectorAll('details[open]')].map(({ id }) => id));
  for (const details of fresh.querySelectorAll('details')) details.open = open.has(details.id);
  shown.replaceChildren(...fresh.childNodes);
  showTimes(shown);
}

/**
 * Replacing the part would lose the focus or a selection.
 * @param {Element} part
 */
const isInUse = (part) =>
  part.contains(document.activeElement) || part.querySelector(':checked[name="ids[]"]') !== null || isSelected(part);

/** @param {Element} part */
function isSelected(part) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
}

showTimes(document);
setInterval(() => showTimes(document), 10_000);
refreshAfter(refreshSeconds(document));
