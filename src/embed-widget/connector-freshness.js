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

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [styles];
    const status = element('p', { role: 'status', 'aria-live': 'polite' }, this.#state, ' ', this.#note);
    const head = element('div', { class: 'head' }, this.#name, status);
    const attributes = { class: 'card', part: 'card', 'aria-labelledby': 'name' };
    root.append(element('section', attributes, head, this.#last, this.#resources, this.#runs));
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

  /** @param {AbortSignal} signal */
  #ask(signal) {
    const base = (this.getAttribute('api-url') ?? new URL('..', ownUrl).href).replace(/(\/api(\/v1)?)?\/*$/, '');
    return fetch(`${base}/api/v1/embed/connection`, {
      headers: { 'x-service-embed-token': this.#token },
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.any([signal, AbortSignal.timeout(responseMs)]),
    });
  }

  /** A problem makes the state `unknown`, even if a view is known. */
  #show() {
    const wanted = this.closest('[lang]')?.getAttribute('lang') || navigator.language;
    const [base, text] = /^de\b/i.test(wanted) ? ['de', words.de] : ['en', words.en];
    const lang = wanted.toLowerCase().startsWith(base) && isLocale(wanted) ? wanted : base;
    const [view, problem] = [this.#view, this.#problem];
    if (view && !problem) this.#setState(view.freshness.health, text.state[stateOf(view.freshness)]);
    else this.#setState('unknown', problem ? text.state.unknown : text.loading);
    setText(this.#note, problem ? text.problem[problem] : view ? text.connection[view.connection.status] : '');
    setText(this.#name, view?.connection.displayName ?? '');
    this.#runs.hidden = !view || view.recentRuns.length === 0;
    this.#last.replaceChildren(...(view ? lastSuccess(view.freshness.lastSuccessAt, text, lang) : []));
    this.#resources.replaceChildren(...(view?.freshness.resources ?? []).map((each) => resourceItem(each, text, lang)));
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
