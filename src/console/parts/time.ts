import { type Html, html } from './html.ts';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (value: number): string => String(value).padStart(2, '0');

/** `25 Nov 2026, 03:08 UTC`. */
function utcWords(iso: string): string {
  const at = new Date(iso);
  const day = `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
  return `${day}, ${two(at.getUTCHours())}:${two(at.getUTCMinutes())} UTC`;
}

/** In UTC until the script shows it in the reader's zone. */
export const time = (iso: string | null, never = 'never'): Html =>
  iso === null ? html`<span class="muted">${never}</span>` : html`<time datetime="${iso}">${utcWords(iso)}</time>`;

/** The time of day for charts: `03:08`, in the reader's zone once the script runs. */
export const clock = (iso: string): Html =>
  html`<time datetime="${iso}" data-clock>${two(new Date(iso).getUTCHours())}:${two(new Date(iso).getUTCMinutes())}</time>`;

/** The script keeps it current. */
export const ago = (iso: string | null, never = 'never'): Html =>
  iso === null
    ? html`<span class="muted">${never}</span>`
    : html`<time datetime="${iso}" data-ago title="${utcWords(iso)}">${agoWords(Date.parse(iso), Date.now())}</time>`;

const steps = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [Number.POSITIVE_INFINITY, 'day', 86_400],
] as const;

/** The script uses the same words. */
function agoWords(atMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - atMs) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 5) return 'just now';
  const [, unit, size] = steps.find(([below]) => distance < below) ?? steps[3];
  const amount = Math.floor(distance / size);
  const words = `${amount} ${unit}${amount === 1 ? '' : 's'}`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}
