/** Confirms destructive actions, and sends each form once. */

document.addEventListener('submit', (event) => {
  const { submitter, target } = event;
  if (!(target instanceof HTMLFormElement) || target.method !== 'post') return;
  const question = submitter?.dataset['confirm'];
  if (target.dataset['sent'] !== undefined || (question && !confirm(question))) {
    event.preventDefault();
    return;
  }
  target.dataset['sent'] = '';
  submitter?.setAttribute('aria-busy', 'true');
});

// A page from the back/forward cache keeps these marks.
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset['sent'];
  for (const button of document.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
});

// On a narrow screen the navigation is one scrolling line: this scrolls the current item into view.
const current = document.querySelector('.side [aria-current]');
const line = current?.closest('nav');
if (current instanceof HTMLElement && line && line.scrollWidth > line.clientWidth) {
  line.scrollLeft = current.offsetLeft - (line.clientWidth - current.offsetWidth) / 2;
}

for (const box of document.querySelectorAll('[data-all]')) {
  box.closest('label')?.removeAttribute('hidden');
  box.addEventListener('change', () => {
    if (!(box instanceof HTMLInputElement)) return;
    for (const one of document.querySelectorAll(`input[name="${box.dataset['all']}"]`)) {
      if (one instanceof HTMLInputElement) one.checked = box.checked;
    }
  });
}

for (const button of document.querySelectorAll('[data-copy]')) {
  if (!(button instanceof HTMLButtonElement)) continue;
  button.hidden = false;
  button.addEventListener('click', () => void copyFor(button));
}

/** @param {HTMLButtonElement} button */
async function copyFor(button) {
  const text = document.getElementById(button.dataset['copy'] ?? '')?.textContent ?? '';
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select it, then copy it';
  }
}
