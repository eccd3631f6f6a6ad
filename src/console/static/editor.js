/** Checks a form while it is filled in: a spec, a transform on a record, the settings of a connection. */

const pauseMs = 500;

for (const editor of document.querySelectorAll('form[data-check]')) {
  if (editor instanceof HTMLFormElement) watchEditor(editor);
}

// The number of a line takes no focus: the text does, at that line.
document.addEventListener('click', (event) => {
  const { target } = event;
  const [, line] = (target instanceof HTMLAnchorElement && /^#line-(\d+)$/.exec(target.hash)) || [];
  const text = document.querySelector('.numbered textarea');
  if (line === undefined || !(text instanceof HTMLTextAreaElement)) return;
  event.preventDefault();
  document.getElementById(`line-${line}`)?.scrollIntoView({ block: 'center' });
  const before = text.value.split('\n').slice(0, Number(line) - 1);
  const start = before.reduce((sum, one) => sum + one.length + 1, 0);
  text.focus({ preventScroll: true });
  text.setSelectionRange(start, start);
});

/** @param {HTMLFormElement} form */
function watchEditor(form) {
  const [resultId = '', ...others] = (form.dataset['result'] ?? '').split(' ');
  const result = document.getElementById(resultId);
  const address = form.dataset['check'] ?? '';
  if (!result) return;
  let timer = 0;
  /** @type {AbortController | null} */
  let asking = null;
  form.addEventListener('input', ({ target }) => {
    // Replacing the result would take the focus from a field in it.
    if (target instanceof Node && result.contains(target)) return;
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
      const fresh = page.getElementById(resultId) ?? page.querySelector('.failure');
      if (fresh && result) {
        result.replaceChildren(...fresh.childNodes);
        result.removeAttribute('aria-busy');
      }
      for (const id of others) {
        const part = page.getElementById(id);
        if (part) document.getElementById(id)?.replaceWith(part);
      }
    } catch {
      // Superseded by another request, or the network is down: the last result stays until the next key.
      result?.removeAttribute('aria-busy');
    }
  }
}
