/** Shapes, and styles that a page changes by custom properties and parts. */

/** A shape for each state: many people cannot tell colors apart. Stroked paths in a box of 16. */
const shapes = {
  healthy: 'M2.5 8.5 6 12l7.5-8',
  degraded: 'M8 2.5 14.5 13.5h-13zM8 6.5V10M8 11.8v.2',
  failing: 'm3.5 3.5 9 9m0-9-9 9',
  syncing: 'M13 8a5 5 0 1 1-1.5-3.5M12 1.5V5H8.5',
  pending: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11',
  unknown: 'M3 8h10',
};

const styles = new CSSStyleSheet();
styles.replaceSync(`
  :host { display: block; color-scheme: light dark;
    --text: var(--connector-freshness-text, #1f2328); --muted: var(--connector-freshness-muted, #59636e);
    --background: var(--connector-freshness-background, #fff); --border: var(--connector-freshness-border, #d1d9e0);
    --healthy: var(--connector-freshness-healthy, #1a7f37); --degraded: var(--connector-freshness-degraded, #8a5c00);
    --failing: var(--connector-freshness-failing, #c11c28); --syncing: var(--connector-freshness-syncing, #0860c4);
    --pending: var(--muted); --unknown: var(--muted); }
  :host([hidden]) { display: none; }
  @media (prefers-color-scheme: dark) { :host {
    --text: var(--connector-freshness-text, #e6edf3); --muted: var(--connector-freshness-muted, #9aa4af);
    --background: var(--connector-freshness-background, #12171e); --border: var(--connector-freshness-border, #3d444d);
    --healthy: var(--connector-freshness-healthy, #3fb950); --degraded: var(--connector-freshness-degraded, #d9a02f);
    --failing: var(--connector-freshness-failing, #ff7b72); --syncing: var(--connector-freshness-syncing, #6cb2ff); } }
  .card { padding: 1em; color: var(--text); background: var(--background); border: 1px solid var(--border);
    border-radius: var(--connector-freshness-radius, .5em); font: var(--connector-freshness-font, inherit);
    line-height: 1.5; }
  p, ul { margin: 0; padding: 0; list-style: none; }
  .head, li { display: flex; flex-wrap: wrap; gap: .25em 1em; align-items: baseline; }
  .name { flex: 1; font-weight: 600; overflow-wrap: anywhere; }
  .muted, summary { color: var(--muted); }
  li { padding: .35em 0; border-top: 1px solid var(--border); }
  ul { margin-top: .5em; }
  [data-health] { white-space: nowrap; }
  ${Object.keys(shapes)
    .map((health) => `[data-health=${health}] { color: var(--${health}); }`)
    .join('\n')}
  svg { width: 1em; height: 1em; margin-inline-end: .4em; vertical-align: -.125em; fill: none; stroke: currentcolor;
    stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
  .actions { display: flex; flex-wrap: wrap; gap: .5em; margin-top: .75em; }
  button { padding: .35em .9em; color: inherit; background: none; border: 1px solid var(--muted);
    border-radius: .4em; font: inherit; cursor: pointer; }
  summary { margin-top: .5em; cursor: pointer; }
  [hidden] { display: none; }`);
