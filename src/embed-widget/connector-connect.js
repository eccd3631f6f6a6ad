/**
 * `<connector-connect>`: shows the page of a connect session in any page. What a customer types stays in a frame of the
 * service: neither the page around it nor its scripts see it. Events: `connected`, `error`, `closed`.
 */

/** By default the origin of this script. */
const connectUrl = document.currentScript instanceof HTMLScriptElement ? document.currentScript.src : location.href;
const tokenForm = /^cst_([0-7][0-9a-hjkmnp-tv-z]{25})[\w-]{43}$/;

class ConnectorConnect extends HTMLElement {
  static observedAttributes = ['token', 'api-url', 'lang'];

  #token = '';
  #soon = false;
  #frame = document.createElement('iframe');

  constructor() {
    super();
    const styles = new CSSStyleSheet();
    styles.replaceSync(
      ':host { display: block } :host([hidden]) { display: none } iframe { display: block; width: 100%; height: 30rem; border: 0 }',
    );
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [styles];
    this.#frame.title = 'Connect';
    this.#frame.referrerPolicy = 'no-referrer';
    root.append(this.#frame);
  }

  /** Setting it begins; the attribute does the same. */
  get token() {
    return this.#token;
  }
  set token(value) {
    this.#token = typeof value === 'string' ? value : '';
    this.#showSoon();
  }

  connectedCallback() {
    const early = Object.getOwnPropertyDescriptor(this, 'token');
    if (early) {
      Reflect.deleteProperty(this, 'token');
      this.token = early.value;
    }
    window.addEventListener('message', this.#onMessage);
    this.#showSoon();
  }

  disconnectedCallback() {
    window.removeEventListener('message', this.#onMessage);
  }

  /** @param {string} name @param {string | null} _before @param {string | null} value */
  attributeChangedCallback(name, _before, value) {
    if (name === 'token') this.token = value ?? '';
    else this.#showSoon();
  }

  #base = () => (this.getAttribute('api-url') ?? new URL('..', connectUrl).href).replace(/(\/api(\/v1)?)?\/*$/, '');

  #showSoon() {
    if (this.#soon) return;
    this.#soon = true;
    queueMicrotask(() => {
      this.#soon = false;
      const [, id] = tokenForm.exec(this.#token) ?? [];
      if (!this.isConnected || id === undefined) return;
      const lang = this.closest('[lang]')?.getAttribute('lang') || navigator.language;
      const address = `${this.#base()}/connect/cse_${id}?lang=${encodeURIComponent(lang)}#${this.#token}`;
      // The same address again: a connected widget that is moved keeps what was typed.
      if (this.#frame.src !== address) this.#frame.src = address;
    });
  }

  /** @param {MessageEvent} message */
  #onMessage = ({ origin, source, data }) => {
    if (source !== this.#frame.contentWindow || origin !== new URL(this.#base()).origin) return;
    if (data?.source !== 'connector-connect') return;
    const { event, height, source: _source, ...detail } = data;
    if (event === 'height') this.#frame.style.height = `${Number(height)}px`;
    else if (['connected', 'error', 'closed'].includes(event)) {
      if (event === 'closed') this.hidden = true;
      this.dispatchEvent(new CustomEvent(event, { detail, bubbles: true, composed: true }));
    }
  };
}

if (!customElements.get('connector-connect')) customElements.define('connector-connect', ConnectorConnect);
