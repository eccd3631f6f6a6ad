/** Validates a spec while it is typed, and shows what a transform makes of a record. */

/** The milliseconds between the last key and the request. */
const pauseMs = 500;

for (const editor of document.querySelectorAll('form[data-check]')) {
  if (editor instanceof HTMLFormElement) watchEditor(editor);
}

/** @param {HTMLFormElement} form */
function watchEditor(form) {
  const result = document.getElementById(form.dataset['result'] ?? '');
  const address = form.dataset['check'] ?? '';
  if (!result) return;
  let timer = 0;
  /** @type {AbortController | null} */
  let asking = null;
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), pauseMs);
  });

  async function ask() {
    asking?.abort();
    asking = new AbortController();
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') body.append(name, value);
    result?.setAttribute('aria-busy', 'true');
    try {
      const response = await fetch(address, { method: 'POST', body, signal: asking.signal, redirect: 'manual' });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const fresh = page.getElementById(form.dataset['result'] ?? '') ?? page.querySelector('.failure');
      if (fresh && result) {
        result.replaceChildren(...fresh.childNodes);
        result.removeAttribute('aria-busy');
      }
    } catch {
      // Another question has begun, or the network is away: what is shown stays until the next key.
      result?.removeAttribute('aria-busy');
    }
  }
}
