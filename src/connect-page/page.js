/** The page that takes a customer through a session, step by step. Each reload goes on where they were. */

const { lang } = document.documentElement;
const pollMs = 2000;

const live = element('p', { role: 'status', class: 'status' });
const heading = element('h1', { tabindex: '-1' });
const brand = element('header');
const steps = element('ol', { class: 'steps' });
const content = element('div', { class: 'content' });

/** @type {ConnectView | null} */
let view = null;
/** What the customer wants to see again; null: what comes next. @type {'values' | 'authorize' | null} */
let wanted = null;
let polling = 0;
/** A test that is under way goes on, whatever other windows say. */
let isTesting = false;

const orgName = () => view?.org.name ?? '';
const connector = () => view?.connector ?? '';

/** @param {Node[]} nodes */
function put(...nodes) {
  content.replaceChildren(...nodes);
  tellHeight();
}

/** @param {string} words */
function say(words) {
  if (live.textContent !== words) live.textContent = words;
  tellHeight();
}

/** @param {string} words */
const alertOf = (words) => element('p', { role: 'alert', class: 'alert' }, words);

function tellHeight() {
  requestAnimationFrame(() =>
    tell(view, { event: 'height', height: Math.ceil(document.body.getBoundingClientRect().height) }),
  );
}

/** A new step is read out from its heading. */
function focusHeading() {
  heading.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** Shows the step that is next, or that is wanted. */
function show() {
  clearTimeout(polling);
  if (!view || isTesting) return;
  showFrame(view);
  say('');
  if (view.state !== 'open') return showEnd(view);
  if (view.step === 'confirm' && wanted === null) return showConfirm(view);
  const isWanted = wanted !== null;
  const step = wanted ?? view.step;
  wanted = null;
  if (step === 'values' && view.fields.length === 0) return void enter({}, []);
  if (step === 'values') showForm(view);
  else if (step === 'authorize') showConsent(view, isWanted);
  else if (view.needsProof && proofs.length === 0) showElsewhere(view);
  else void runTest();
}

/** @param {ConnectView} now */
function showFrame(now) {
  const { name, color, logo } = now.org;
  document.title = fill(text.title, now.connector);
  heading.textContent = document.title;
  brand.replaceChildren(...(logo ? [element('img', { src: logo, alt: '' })] : []), element('span', {}, name));
  if (color) {
    document.documentElement.style.setProperty('--accent', color);
    document.documentElement.style.setProperty('--on-accent', textOn(color));
  }
  /** @type {(keyof Words['steps'])[]} */
  const all = ['test'];
  if (now.consents.needed > 0 || now.step === 'authorize') all.unshift('authorize');
  if (now.fields.length > 0) all.unshift('values');
  const current = wanted ?? now.step;
  steps.hidden = now.state !== 'open' || all.length < 2;
  steps.replaceChildren(
    ...all.map((step) => element('li', step === current ? { 'aria-current': 'step' } : {}, text.steps[step])),
  );
}

/** @param {ConnectView} now */
function showForm(now) {
  const controls = now.fields.map((field) => controlOf(field, text));
  const alert = alertOf('');
  alert.hidden = true;
  const submit = element('button', { type: 'submit' }, text.next);
  /** @param {Record<string, unknown>} values */
  const send = async (values) => {
    submit.disabled = true;
    const words = await enter(values, controls);
    submit.disabled = false;
    alert.textContent = words;
    alert.hidden = words === '';
    tellHeight();
  };
  const secrets = now.fields.some(({ secret }) => secret) ? [element('p', { class: 'muted' }, text.sealed)] : [];
  const form = element(
    'form',
    { novalidate: '', autocomplete: 'off' },
    alert,
    ...controls.map(({ row }) => row),
    ...secrets,
    element('div', { class: 'actions' }, submit, ...cancel()),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    for (const { field, input, say: mark } of controls) mark(mistakeWords(field, input.value, text));
    const wrong = controls.find(({ input }) => input.getAttribute('aria-invalid') === 'true');
    alert.hidden = !wrong;
    alert.textContent = wrong ? text.correct : '';
    tellHeight();
    if (wrong) return wrong.input.focus();
    const given = controls.flatMap(({ field, input }) => {
      const value = valueOf(field, input.value);
      return value === undefined ? [] : [[field.key, value]];
    });
    void send(Object.fromEntries(given));
  });
  put(form);
}

/** What went wrong; empty: nothing did. @param {Record<string, unknown>} values @param {Control[]} controls */
async function enter(values, controls) {
  say(text.loading);
  const response = await ask('PUT', '/values', { values });
  say('');
  if (response.status === 200) {
    view = response.body;
    show();
    focusHeading();
    return '';
  }
  /** @type {{ path: string, message: string }[]} */
  const issues = response.body?.error?.issues ?? [];
  const found = controls.flatMap((control) => {
    const issue = issues.find(({ path }) => path === control.field.key);
    if (!issue) return [];
    control.say(lang === 'en' ? `${text.invalid.refused} (${issue.message})` : text.invalid.refused);
    return [control];
  });
  const [first] = found;
  if (first) {
    first.input.focus();
    return text.correct;
  }
  const words = await problemOf(response);
  if (controls.length > 0 || words === '') return words;
  put(
    alertOf(words),
    element(
      'div',
      { class: 'actions' },
      button(text.again, () => show()),
      ...cancel(),
    ),
  );
  return words;
}

/** The words for a response that failed; shows the end if the session has ended. @param {Outcome} response */
async function problemOf({ status: code }) {
  if (code === 0) return text.offline;
  if (code === 429) return text.busy;
  const { status: ofView, body } = await ask('GET', '');
  if (ofView === 0) return text.offline;
  if (ofView !== 200) {
    showLost(text.noToken);
    return '';
  }
  view = body;
  if (view && view.state !== 'open') {
    show();
    return '';
  }
  if (code === 402) return fill(text.problem.plan_limit, orgName());
  if (view?.problem && view.problem !== 'validation') {
    tell(view, { event: 'error', code: view.problem });
    return fill(text.notYours, orgName());
  }
  return view?.needsProof ? text.elsewhere : text.busy;
}

/** @param {ConnectView} now @param {boolean} isWanted true: what failed before was something else */
function showConsent(now, isWanted) {
  const words = now.problem && !isWanted ? consentProblem(now.problem) : '';
  const start = button(fill(text.goTo, connector()), () => void consent(start));
  put(
    ...(words === '' ? [] : [alertOf(words)]),
    element('p', {}, fill(text.consent, connector())),
    element('div', { class: 'actions' }, start, ...changeDetails(now), ...cancel()),
  );
}

/** @param {string} code */
const consentProblem = (code) =>
  fill(
    Object.hasOwn(text.problem, code) ? text.problem[/** @type {keyof Words['problem']} */ (code)] : text.problem.other,
    orgName(),
  );

/** @param {ConnectView} now */
const changeDetails = ({ fields }) => (fields.length === 0 ? [] : [button(text.change, () => goTo('values'), 'quiet')]);

/** @param {'values' | 'authorize'} step */
function goTo(step) {
  wanted = step;
  show();
  focusHeading();
}

const popupUrl = () => `${location.pathname}?popup=${isFramed ? 'framed' : 'window'}&lang=${lang}#${token}`;

/** The window opens in the click itself, which browsers allow. @param {HTMLButtonElement} start */
async function consent(start) {
  const opened = window.open(popupUrl(), `connect-${sessionId}`, 'popup,width=640,height=760');
  if (opened) {
    say(text.waiting);
    return pollConsent();
  }
  if (!isFramed) {
    start.disabled = true;
    const words = await leaveForConsent();
    start.disabled = false;
    return words === '' ? undefined : put(alertOf(words), element('div', { class: 'actions' }, start));
  }
  const link = element(
    'a',
    { href: popupUrl(), target: '_blank', rel: 'opener', class: 'button' },
    fill(text.openTab, connector()),
  );
  link.addEventListener('click', () => {
    say(text.waiting);
    pollConsent();
  });
  put(alertOf(text.blocked), element('div', { class: 'actions' }, link, ...cancel()));
  link.focus();
}

/** What went wrong; empty: this window leaves for the provider. */
async function leaveForConsent() {
  const response = await ask('POST', '/authorize');
  if (response.status !== 200) return await problemOf(response);
  location.assign(response.body.authorizeUrl);
  return '';
}

/** Messages of the other window can get lost, so the service is asked. */
function pollConsent() {
  clearTimeout(polling);
  polling = window.setTimeout(() => void refreshConsent().then((over) => over || pollConsent()), pollMs);
}

/** True when it has ended, well or not. */
async function refreshConsent() {
  const before = view;
  const { status: code, body } = await ask('GET', '');
  if (code === 0 || code === 429) {
    say(code === 0 ? text.offline : text.busy);
    return false;
  }
  if (code !== 200) {
    showLost(text.noToken);
    return true;
  }
  /** @type {ConnectView} */
  const now = body;
  const isOver =
    now.state !== 'open' ||
    now.step !== 'authorize' ||
    now.consents.given !== before?.consents.given ||
    (now.problem !== null && now.problem !== before.problem);
  // A problem of before is over as soon as the other window has begun.
  view = now;
  if (!isOver) return false;
  show();
  focusHeading();
  return true;
}

/** Another window has the proof: it goes on, or hands it over. @param {ConnectView} now */
function showElsewhere(now) {
  const again = button(text.permitAgain, () => goTo('authorize'), 'quiet');
  put(
    element('p', {}, text.elsewhere),
    element('div', { class: 'actions' }, again, ...changeDetails(now), ...cancel()),
  );
  pollView();
}

/** Waits while another window is at work. @param {string} path @param {unknown} body @returns {Promise<Outcome>} */
async function askInTurn(path, body) {
  for (let tries = 0; ; tries += 1) {
    const response = await ask('POST', path, body);
    if (response.status !== 409 || tries === 3) return response;
    const { body: now } = await ask('GET', '');
    if (now?.state !== 'open' || now.problem !== null) return response;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function runTest() {
  isTesting = true;
  const end = await testParts().finally(() => {
    isTesting = false;
  });
  end();
}

/** Each part by itself, so that the customer sees where it is; returns what comes next. @returns {Promise<() => void>} */
async function testParts() {
  const lines = /** @type {const} */ (['source', 'destination']).map((part) => {
    const state = element('span', { class: 'muted' }, text.states.waiting);
    const name = element('span', { class: 'grow' }, fill(text.parts[part], connector()));
    const mark = element('span', { class: 'mark' }, icon('waiting'));
    const line = element('li', { 'data-state': 'waiting' }, mark, name, state);
    /** @param {keyof Words['states']} next */
    const become = (next) => {
      line.dataset['state'] = next;
      mark.replaceChildren(icon(next));
      state.textContent = text.states[next];
    };
    return { part, line, become };
  });
  const list = element('ul', { class: 'parts', role: 'list' }, ...lines.map(({ line }) => line));
  put(list);
  say(text.checking);
  for (const { part, become } of lines) {
    become('running');
    const response = await askInTurn('/test', { step: part });
    if (response.status === 200 && response.body.ok) {
      become('ok');
      continue;
    }
    become('failed');
    say('');
    const words = response.status === 200 ? failureOf(response.body) : await problemOf(response);
    return () => showFailure(list, words);
  }
  const response = await askInTurn('/finish', { proofs });
  say('');
  if (response.status !== 200) {
    const words = await problemOf(response);
    return () => showFailure(list, words);
  }
  view = response.body.view;
  const { returnAddress } = response.body;
  if (returnAddress !== null && !isFramed) return () => location.assign(returnAddress);
  if (returnAddress !== null) tell(view, { event: 'connected', code: new URL(returnAddress).searchParams.get('code') });
  return () => {
    show();
    focusHeading();
  };
}

/** @param {import('../core/resources/connect-session.ts').ConnectTest} test */
function failureOf({ step, code, isTheirs }) {
  tell(view, { event: 'error', code });
  if (!isTheirs) return fill(text.notYours, orgName());
  if (step === 'destination') return text.failed.destination;
  if (code === 'auth_failed' && view && view.consents.needed > 0) return text.failed.no_permission;
  const known =
    code !== null && Object.hasOwn(text.failed, code) ? /** @type {keyof Words['failed']} */ (code) : 'other';
  return fill(text.failed[known], connector());
}

/** Empty words: the end is shown already. @param {HTMLElement} list @param {string} words */
function showFailure(list, words) {
  if (!view) return;
  if (words === '') return view.state === 'open' ? undefined : show();
  if (view.step === 'authorize' || view.step === 'values') return show();
  const again = view.consents.needed > 0 ? [button(text.permitAgain, () => goTo('authorize'), 'quiet')] : [];
  const actions = [button(text.again, () => void runTest()), ...changeDetails(view), ...again, ...cancel()];
  put(list, alertOf(words), element('div', { class: 'actions' }, ...actions));
}

/** @param {ConnectView} now */
function showConfirm(now) {
  put(element('p', {}, fill(text.confirm, now.org.name)));
  pollView();
}

function pollView() {
  polling = window.setTimeout(() => void refresh(), pollMs);
}

async function refresh() {
  const { status: code, body } = await ask('GET', '');
  if (code === 200) view = body;
  show();
}

/** @param {ConnectView} now */
function showEnd(now) {
  if (now.state === 'connected') {
    tell(now, { event: 'connected', connectionId: now.connectionId });
    const done = element('p', { class: 'done' }, icon('ok'), fill(text.done, now.connector));
    const close = button(text.close, () => tell(view, { event: 'closed' }));
    return put(
      done,
      isFramed ? element('div', { class: 'actions' }, close) : element('p', { class: 'muted' }, text.doneHint),
    );
  }
  const state = now.state === 'expired' ? 'expired' : 'canceled';
  tell(now, { event: 'error', code: state });
  put(alertOf(fill(text.ended[state], now.org.name)), element('div', { class: 'actions' }, ...cancel()));
}

/** A frame alone can be closed by the page around it. */
const cancel = () => (isFramed ? [button(text.cancel, () => tell(view, { event: 'closed' }), 'quiet')] : []);

/** @param {string} words */
function showLost(words) {
  clearTimeout(polling);
  steps.hidden = true;
  put(alertOf(words));
}

/** The window that was opened for the provider, on its way there and back. */
async function passThrough() {
  if (query.has('popup')) {
    kept.write('popup', popup ?? 'window');
    const words = await leaveForConsent();
    return words === '' ? undefined : put(alertOf(words), element('p', { class: 'muted' }, text.closeWindow));
  }
  const { status: code, body } = await ask('GET', '');
  view = code === 200 ? body : null;
  if (view) showFrame(view);
  steps.hidden = true;
  const problem = view?.problem ? [alertOf(consentProblem(view.problem))] : [];
  put(...problem, element('p', {}, text.closeWindow));
  if (view && problem.length === 0) window.close();
}

async function open() {
  document.documentElement.classList.toggle('framed', isFramed);
  const before = kept.read('lang');
  // The provider knows no language of ours.
  if (query.has('back') && before !== null && before !== lang)
    return location.replace(`${location.pathname}${location.search}&lang=${before}`);
  kept.write('lang', lang);
  document.body.append(element('main', {}, brand, heading, steps, content, live));
  steps.hidden = true;
  const back = query.get('back');
  if (back !== null) history.replaceState(null, '', location.pathname);
  if (token === '') return showLost(back === 'other_browser' ? text.problem.other_browser : text.noToken);
  say(text.loading);
  if (back !== null) tellBack();
  // The page of the provider may cut the tie to the frame, which then cannot finish.
  if (popup !== null && !(popup === 'framed' && back !== null && window.opener === null && !(await isHeard))) {
    await passThrough();
    return say('');
  }
  const response = await ask('GET', '');
  say('');
  if (response.status === 200) {
    view = response.body;
    return show();
  }
  const words = response.status === 0 ? text.offline : text.noToken;
  put(
    alertOf(words),
    element(
      'div',
      { class: 'actions' },
      button(text.again, () => location.reload()),
    ),
  );
}

if (popup === null)
  hearBack(() => {
    if (view?.step === 'authorize') void refreshConsent().then((over) => over || pollConsent());
    else if (view?.step === 'test') show();
  });
void open();
