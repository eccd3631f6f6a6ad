/** Opens the search as a dialog by Ctrl-K or Cmd-K: a combobox whose options are links. */

const finder = document.querySelector('form.finder');
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
if (finder instanceof HTMLFormElement) openByKey(finder);

/** @param {HTMLFormElement} form */
function openByKey(form) {
  const hint = form.querySelector('kbd');
  if (hint) {
    hint.hidden = false;
    if (isMac) hint.textContent = '⌘K';
  }
  /** @type {ReturnType<typeof makeDialog> | null} */
  let dialog = null;
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    dialog ??= makeDialog(form.action);
    dialog.open();
  });
}

/** @param {string} action */
function makeDialog(action) {
  const dialog = document.createElement('dialog');
  dialog.className = 'find';
  dialog.setAttribute('aria-label', 'Find');
  const form = document.createElement('form');
  form.action = action;
  const input = document.createElement('input');
  input.name = 'q';
  input.type = 'text';
  input.autocomplete = 'off';
  input.spellcheck = false;
  input.placeholder = 'Name, customer, id, key of a record…';
  const list = document.createElement('div');
  list.id = 'find-options';
  list.hidden = true;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Results');
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': 'Find',
    'aria-autocomplete': 'list',
    'aria-controls': list.id,
    'aria-expanded': 'false',
  }))
    input.setAttribute(name, value);
  const state = document.createElement('p');
  state.className = 'hint';
  state.setAttribute('role', 'status');
  form.append(input, list, state);
  dialog.append(form);
  document.body.append(dialog);

  let timer = 0;
  /** @type {AbortController | null} */
  let asking = null;
  /** Of the options; -1: none. */
  let active = -1;

  const options = () => [...list.querySelectorAll('a')];

  /** @param {number} index */
  function activate(index) {
    const all = options();
    active = all[index] ? index : -1;
    all.forEach((option, place) => option.setAttribute('aria-selected', String(place === active)));
    const option = all[active];
    if (option) {
      input.setAttribute('aria-activedescendant', option.id);
      option.scrollIntoView({ block: 'nearest' });
    } else input.removeAttribute('aria-activedescendant');
  }

  /** @param {ReadonlyArray<{ name: string, hits: ReadonlyArray<{ label: string, about: string, href: string }> }>} groups */
  function show(groups) {
    list.replaceChildren(
      ...groups.map(({ name, hits }, place) => {
        const group = document.createElement('div');
        const head = document.createElement('p');
        head.id = `find-group-${place}`;
        head.textContent = name;
        group.setAttribute('role', 'group');
        group.setAttribute('aria-labelledby', head.id);
        group.append(head, ...hits.map(optionOf));
        return group;
      }),
    );
    options().forEach((option, place) => {
      option.id = `find-option-${place}`;
    });
    list.hidden = groups.length === 0;
    input.setAttribute('aria-expanded', String(groups.length > 0));
    activate(0);
    const count = options().length;
    state.textContent =
      input.value.trim() === ''
        ? ''
        : count === 0
          ? 'Nothing is found.'
          : `${count} found. Arrows select, Enter opens.`;
  }

  async function ask() {
    asking?.abort();
    asking = new AbortController();
    const q = input.value.trim();
    if (q === '') return show([]);
    try {
      const response = await fetch(`/console/find-results?${new URLSearchParams({ q })}`, {
        headers: { accept: 'application/json' },
        redirect: 'manual',
        signal: asking.signal,
      });
      if (response.type === 'opaqueredirect') location.reload();
      else if (response.ok) show(await response.json());
      else state.textContent = 'The search failed: press Enter to try it as a page.';
    } catch (error) {
      if (!(error instanceof DOMException)) state.textContent = 'The service does not respond.';
    }
  }

  input.addEventListener('input', () => {
    // The options are those of another text.
    activate(-1);
    asking?.abort();
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), 150);
  });
  input.addEventListener('keydown', (event) => {
    // The keys of an input method choose a word.
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const count = options().length;
      activate(active < 0 && step < 0 ? count - 1 : (active + step + count) % count);
    } else if (event.key === 'Enter' && active >= 0) {
      event.preventDefault();
      options()[active]?.click();
    }
  });
  // A click beside the dialog closes it.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());

  return {
    open() {
      if (!dialog.open) dialog.showModal();
      input.select();
    },
  };
}

/** @param {{ label: string, about: string, href: string }} hit */
function optionOf({ label, about, href }) {
  const option = document.createElement('a');
  option.href = href;
  option.tabIndex = -1;
  option.setAttribute('role', 'option');
  const name = document.createElement('span');
  name.className = 'strong';
  name.textContent = label;
  const more = document.createElement('span');
  more.className = 'muted';
  more.textContent = about;
  option.append(name, ' ', more);
  return option;
}
