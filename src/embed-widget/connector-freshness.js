/**
 * `<connector-freshness>`: shows in any page how up to date a connection is. It calls one endpoint, `GET
 * /embed/connection`. The page gives it a token by property, never in markup.
 *
 * @typedef {() => string | Promise<string>} GetToken asks the page's own server for a fresh token
 * @typedef {keyof Words['problem']} Problem why there is nothing new to show
 */

/** Milliseconds between requests while the page is visible, with jitter so that many pages do not ask at once. */
const refreshMs = 30_000;
const responseMs = 15_000;

/** By default the origin of this script. */
const ownUrl = document.currentScript instanceof HTMLScriptElement ? document.currentScript.src : location.href;

class ConnectorFreshness extends HTMLElement {
  static observedAttributes = ['api-url', 'lang'];

  #token = '';
  /** @type {GetToken | null} */
  #getToken = null;
  /** @type {Promise<void> | null} The pending call of `getToken`. */
  #minting = null;
  /** @type {AbortController | null} The pending request. */
  #asking = null;
  /** @type {FreshnessView | null} */
  #view = null;
  /** @type {Problem | null} */
  #problem = null;
  #soon = false;
  #timer = 0;

  // Updated in place: the focus stays, and the live region speaks only when its words change.
  #name = element('span', { class: 'name', part: 'name', id: 'name' });
  #state = element('span', { part: 'state' });
  #note = element('span', { part: 'note', class: 'muted' });
  #last = element('p', { class: 'muted', part: 'last-success' });
  #resources = element('ul', { role: 'list', part: 'resources' });
  #summary = element('summary');
  #runList = element('ul', { role: 'list' });
  #runs = element('details', { part: 'runs' }, this.#summary, this.#runList);
  #buttons = element('div', { class: 'actions', part: 'actions' });
  #outcome = element('p', { class: 'muted', part: 'outcome', 'aria-live': 'polite' });

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [styles];
    const status = element('p', { role: 'status', 'aria-live': 'polite' }, this.#state, ' ', this.#note);
    const head = element('div', { class: 'head' }, this.#name, status);
    const attributes = { class: 'card', part: 'card', 'aria-labelledby': 'name' };
    root.append(
      element('section', attributes, head, this.#last, this.#resources, this.#buttons, this.#outcome, this.#runs),
    );
  }

  /** Setting it refreshes. */
  get token() {
    return this.#token;
  }
  set token(value) {
    this.#token = textOf(value);
    this.#refreshSoon();
  }

  /** Called once whenever the token is missing or refused. */
  get getToken() {
    return this.#getToken;
  }
  set getToken(value) {
    this.#getToken = typeof value === 'function' ? value : null;
    this.#refreshSoon();
  }

  connectedCallback() {
    this.#adopt('token');
    this.#adopt('getToken');
    document.addEventListener('visibilitychange', this.#onVisible);
    this.#show();
    this.#refreshSoon();
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#onVisible);
    clearTimeout(this.#timer);
    this.#asking?.abort();
  }

  /** @param {string} changed */
  attributeChangedCallback(changed) {
    if (changed === 'lang') this.#show();
    else this.#refreshSoon();
  }

  /** A property that the page set before this script ran hides ours. @param {'token' | 'getToken'} property */
  #adopt(property) {
    if (!Object.hasOwn(this, property)) return;
    const value = /** @type {any} */ (this)[property];
    Reflect.deleteProperty(this, property);
    Reflect.set(this, property, value);
  }

  #onVisible = () => {
    if (document.visibilityState === 'visible') this.#refreshSoon();
  };

  /** Batches all settings that the page makes at once. */
  #refreshSoon() {
    if (this.#soon) return;
    this.#soon = true;
    queueMicrotask(() => {
      this.#soon = false;
      void this.#refresh();
    });
  }

  async #refresh() {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    if (!this.isConnected || (this.#token === '' && !this.#getToken)) return;
    const { signal } = (this.#asking = new AbortController());
    const { view, problem } = await this.#read(signal);
    if (signal.aborted) return;
    if (problem === 'expired') this.#token = '';
    this.#view = problem === 'gone' ? null : (view ?? this.#view);
    this.#problem = problem;
    this.#show();
    const waitMs = refreshMs * (0.9 + Math.random() * 0.2);
    this.#timer = window.setTimeout(() => document.visibilityState === 'visible' && this.#refreshSoon(), waitMs);
  }

  /**
   * Never throws.
   * @param {AbortSignal} signal
   * @returns {Promise<{ view: FreshnessView | null, problem: Problem | null }>}
   */
  async #read(signal) {
    try {
      const response = await this.#responseOf(signal);
      if (!response.ok) return { view: null, problem: problemOf(response.status) };
      return { view: await response.json(), problem: null };
    } catch {
      return { view: null, problem: 'unavailable' };
    }
  }

  /** Retries once after a refused token, unless the token is fresh. @param {AbortSignal} signal */
  async #responseOf(signal) {
    const missing = this.#token === '';
    if (missing) await this.#mint();
    const response = await this.#ask(signal);
    if (response.status !== 401 || missing || !this.#getToken) return response;
    await this.#mint();
    return this.#ask(signal);
  }

  #mint() {
    this.#minting ??= Promise.resolve(this.#getToken?.())
      .then((token) => void (this.#token = textOf(token)))
      .finally(() => void (this.#minting = null));
    return this.#minting;
  }

  /** @param {AbortSignal} signal @param {string} [act] what a POST does; absent: a read */
  #ask(signal, act) {
    const base = (this.getAttribute('api-url') ?? new URL('..', ownUrl).href).replace(/(\/api(\/v1)?)?\/*$/, '');
    return fetch(`${base}/api/v1/embed/connection${act ? `/${act}` : ''}`, {
      method: act ? 'POST' : 'GET',
      headers: { 'x-service-embed-token': this.#token },
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.any([signal, AbortSignal.timeout(responseMs)]),
    });
  }

  /** A window opens in the click itself, which browsers allow. @param {Act} act */
  async #act(act) {
    const [, text] = this.#language();
    const popup = act === 'reauthorize' ? window.open('', '_blank', 'popup,width=640,height=760') : null;
    setText(this.#outcome, text.loading);
    try {
      const response = await this.#ask(new AbortController().signal, act);
      if (!response.ok) throw new Error(String(response.status));
      const { url } = await response.json();
      setText(this.#outcome, '');
      if (popup) {
        popup.opener = null;
        popup.location.replace(url);
      } else if (url !== undefined) {
        this.#outcome.replaceChildren(
          element('a', { href: url, target: '_blank', rel: 'noopener' }, text.act.reauthorize),
        );
      }
    } catch {
      popup?.close();
      setText(this.#outcome, text.failed);
    }
    this.#refreshSoon();
  }

  /** Stays as it is while the same acts are possible. @param {Words} text */
  #showActs(text) {
    const acts = this.#view && !this.#problem ? actsOf(this.#token, this.#view.connection.status) : [];
    const key = `${text.loading} ${acts.join(' ')}`;
    if (this.#buttons.dataset['key'] === key) return;
    this.#buttons.dataset['key'] = key;
    const hadFocus = this.#buttons.contains(this.shadowRoot?.activeElement ?? null);
    this.#buttons.replaceChildren(
      ...acts.map((act) => {
        const button = element('button', { type: 'button', part: `button ${act}` }, text.act[act]);
        button.addEventListener('click', () => void this.#act(act));
        return button;
      }),
    );
    this.#buttons.hidden = acts.length === 0;
    if (hadFocus) this.#buttons.querySelector('button')?.focus();
  }

  /** @returns {[lang: string, text: Words]} */
  #language() {
    const wanted = this.closest('[lang]')?.getAttribute('lang') || navigator.language;
    const [base, text] = /^de\b/i.test(wanted) ? ['de', words.de] : ['en', words.en];
    return [wanted.toLowerCase().startsWith(base) && isLocale(wanted) ? wanted : base, text];
  }

  /** A problem makes the state `unknown`, even if a view is known. */
  #show() {
    const [lang, text] = this.#language();
    const [view, problem] = [this.#view, this.#problem];
    if (view && !problem) this.#setState(view.freshness.health, text.state[stateOf(view.freshness)]);
    else this.#setState('unknown', problem ? text.state.unknown : text.loading);
    setText(this.#note, problem ? text.problem[problem] : view ? text.connection[view.connection.status] : '');
    setText(this.#name, view?.connection.displayName ?? '');
    this.#runs.hidden = !view || view.recentRuns.length === 0;
    this.#last.replaceChildren(...(view ? lastSuccess(view.freshness.lastSuccessAt, text, lang) : []));
    this.#resources.replaceChildren(...(view?.freshness.resources ?? []).map((each) => resourceItem(each, text, lang)));
    this.#showActs(text);
    setText(this.#summary, text.runs);
    this.#runList.replaceChildren(...(view?.recentRuns ?? []).map((run) => runItem(run, text, lang)));
  }

  /** @param {keyof typeof shapes} health @param {string} words */
  #setState(health, words) {
    if (this.#state.dataset['health'] === health && this.#state.textContent === words) return;
    this.#state.dataset['health'] = health;
    this.#state.replaceChildren(icon(health), words);
  }
}

/**
 * What the customer may do now: only what the token has a scope for.
 * @typedef {keyof Words['act']} Act
 * @param {string} token @param {FreshnessView['connection']['status']} status @returns {Act[]}
 */
function actsOf(token, status) {
  const scopes = scopesOf(token);
  /** @type {Act[]} */
  const acts = [];
  if (scopes.includes('sync') && status === 'active') acts.push('sync');
  if (scopes.includes('pause') && status === 'active') acts.push('pause');
  if (scopes.includes('pause') && status === 'paused') acts.push('resume');
  if (scopes.includes('reauthorize')) acts.push('reauthorize');
  return acts;
}

/** The service has the last word; this only shows no button in vain. @param {string} token @returns {string[]} */
function scopesOf(token) {
  try {
    const [, claims = ''] = token.split('.');
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).scopes ?? [];
  } catch {
    return [];
  }
}

/** Chrome takes its language from the system, which may call it `en-US@posix`. @param {string} text */
function isLocale(text) {
  try {
    return Intl.getCanonicalLocales(text).length > 0;
  } catch {
    return false;
  }
}

/** @param {unknown} value */
const textOf = (value) => (typeof value === 'string' ? value : '');

/** @param {number} status @returns {Problem} */
const problemOf = (status) => (status === 401 ? 'expired' : status === 404 ? 'gone' : 'unavailable');

if (!customElements.get('connector-freshness')) customElements.define('connector-freshness', ConnectorFreshness);
