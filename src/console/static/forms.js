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

// On a narrow screen navigation is one scrolling line: this scrolls the current item into view.
for (const line of document.querySelectorAll('.side nav, .tabs')) {
  const current = line.querySelector('[aria-current]');
  if (!(current instanceof HTMLElement) || line.scrollWidth <= line.clientWidth) continue;
  const [{ left }, { left: start }] = [current.getBoundingClientRect(), line.getBoundingClientRect()];
  line.scrollLeft += left - start - (line.clientWidth - current.offsetWidth) / 2;
}

// Also of a list that was replaced since.
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.dataset['all'] === undefined) return;
  for (const one of target.form?.querySelectorAll(`input[name="${target.dataset['all']}"]`) ?? []) {
    if (one instanceof HTMLInputElement) one.checked = target.checked;
  }
});

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
