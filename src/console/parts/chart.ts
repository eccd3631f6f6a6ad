import { type Content, type Html, html } from './html.ts';

/** Parts are stacked from the bottom up. */
export interface BarPart {
  /** A class of the stylesheet. */
  readonly look: string;
  readonly words: string;
  readonly value: number;
}

interface Bar {
  /** Shown where there is room. */
  readonly tick: Content;
  readonly parts: readonly BarPart[];
  /** Where it leads, and what it is called there; absent: nowhere. */
  readonly link?: { readonly href: string; readonly name: string };
}

interface BarChart {
  readonly heading: string;
  /** For screen readers. */
  readonly summary: string;
  readonly bars: readonly Bar[];
  readonly format: (value: number) => string;
  /** Shown when every value is 0. */
  readonly empty: string;
}

const width = 720;
const height = 120;
const gap = 3;

export function barChart({ heading, summary, bars, format, empty }: BarChart): Html {
  const totals = bars.map(({ parts }) => sum(parts.map(({ value }) => value)));
  const most = Math.max(...totals, 0);
  const slot = width / Math.max(bars.length, 1);
  return html`<figure class="chart">
    <figcaption><span class="strong">${heading}</span> ${legend(bars)}</figcaption>
    ${
      most === 0
        ? html`<p class="empty">${empty}</p>`
        : html`<div class="plot"><span class="most" aria-hidden="true">${format(most)}</span>
    <svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="${bars.some(({ link }) => link) ? 'group' : 'img'}" aria-label="${summary}">
      <line class="grid" x1="0" x2="${width}" y1="0.5" y2="0.5"/><line class="grid" x1="0" x2="${width}" y1="${height / 2}" y2="${height / 2}"/>
      ${bars.map((bar, index) => barOf(bar, { x: index * slot + gap / 2, slotWidth: slot - gap, scale: (height - 2) / most, format }))}
      <line class="axis" x1="0" x2="${width}" y1="${height - 0.5}" y2="${height - 0.5}"/>
    </svg></div>
    <div class="ticks" aria-hidden="true">${ticks(bars).map((tick) => html`<span>${tick}</span>`)}</div>`
    }
  </figure>`;
}

interface Place {
  readonly x: number;
  readonly slotWidth: number;
  readonly scale: number;
  readonly format: (value: number) => string;
}

function barOf({ parts, link }: Bar, { x, slotWidth, scale, format }: Place): Content {
  let top = height - 1;
  const shown = parts.filter(({ value }) => value > 0);
  const words = shown.map(({ words: name, value }) => `${name}: ${format(value)}`).join(', ');
  const bar = html`<g>${shown.map(({ look, value }) => {
    const tall = Math.max(value * scale, 1.5);
    top -= tall;
    return html`<rect class="fill-${look}" x="${x.toFixed(1)}" y="${Math.max(top, 0).toFixed(1)}" width="${slotWidth.toFixed(1)}" height="${tall.toFixed(1)}"/>`;
  })}${shown.length > 0 ? html`<title>${words}</title>` : ''}</g>`;
  if (!link || shown.length === 0) return bar;
  // A low bar is hit all over its column, too.
  return html`<a href="${link.href}" aria-label="${link.name}: ${words}"><rect class="hit" x="${x.toFixed(1)}" width="${slotWidth.toFixed(1)}" height="${height}"/>${bar}</a>`;
}

function legend(bars: readonly Bar[]): Content {
  const used = new Map(
    bars.flatMap(({ parts }) =>
      parts.filter(({ value }) => value > 0).map(({ look, words }) => [look, words] as const),
    ),
  );
  return used.size < 2 ? null : key([...used]);
}

export const key = (entries: readonly (readonly [look: string, words: string])[]): Html =>
  html`<span class="key">${entries.map(
    ([look, words]) =>
      html`<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="fill-${look}" width="10" height="10" rx="2"/></svg>${words}</span>`,
  )}</span>`;

const ticks = (bars: readonly Bar[]): readonly Content[] =>
  [0, 0.25, 0.5, 0.75].map((share) => bars[Math.floor(share * bars.length)]?.tick ?? null);

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

export function shareBar(parts: readonly BarPart[], summary: string): Html {
  const whole = sum(parts.map(({ value }) => value));
  let x = 0;
  return html`<svg class="share" viewBox="0 0 ${width} 14" preserveAspectRatio="none" role="img" aria-label="${summary}">
    <rect class="fill-none" width="${width}" height="14"/>
    ${parts
      .filter(({ value }) => value > 0)
      .map(({ look, value, words }) => {
        const wide = Math.max((width * value) / whole, 3);
        const at = x;
        x += wide;
        return html`<rect class="fill-${look}" x="${at.toFixed(1)}" width="${wide.toFixed(1)}" height="14"><title>${words}</title></rect>`;
      })}
  </svg>`;
}
