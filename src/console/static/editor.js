/** Validates a spec while it is typed, and previews a transform on a record. */

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
      // Superseded by another request, or the network is down: the last result stays until the next key.
      result?.removeAttribute('aria-busy');
    }
  }
}
