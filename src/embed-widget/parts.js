/**
 * Elements of the widget.
 *
 * @import { FreshnessView, Health, ResourceFreshness } from '../core/resources/freshness.ts'
 */

/**
 * Children are nodes or text, never markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** @param {keyof typeof shapes} shape */
function icon(shape) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', shapes[shape]);
  svg.append(path);
  return svg;
}

/** Degraded means overdue or incomplete. @param {{ health: Health, overdue: boolean }} freshness */
const stateOf = ({ health, overdue }) => (health !== 'degraded' ? health : overdue ? 'overdue' : 'incomplete');

/** @type {readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[]} */
const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** The distance from now, with the exact time on hover. @param {string} at @param {string} lang */
function time(at, lang) {
  const seconds = Math.min(0, (Date.parse(at) - Date.now()) / 1000);
  const [unit, size] = units.find(([, length]) => -seconds >= length) ?? ['second', 1];
  const distance = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' }).format(Math.ceil(seconds / size), unit);
  const exact = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));
  return element('time', { datetime: at, title: exact }, distance);
}

/** @param {number} count @param {Words} text @param {string} lang */
const records = (count, text, lang) =>
  `${new Intl.NumberFormat(lang).format(count)} ${text.records[new Intl.PluralRules(lang).select(count) === 'one' ? 'one' : 'other']}`;

/** A live region speaks on every write, even of the same words. @param {Node} node @param {string} text */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @param {string | null} at @param {Words} text @param {string} lang */
const lastSuccess = (at, text, lang) => (at === null ? [text.never] : [`${text.lastSuccess}: `, time(at, lang)]);

/** @param {ResourceFreshness} resource @param {Words} text @param {string} lang */
function resourceItem(resource, text, lang) {
  const { resourceKey, health, lastSuccessAt, lastRecords } = resource;
  const state = element('span', { 'data-health': health }, icon(health), text.state[stateOf(resource)]);
  /** @type {(Node | string)[]} */
  const facts = lastSuccessAt === null ? [text.never] : [time(lastSuccessAt, lang)];
  if (lastRecords !== null) facts.push(` · ${records(lastRecords, text, lang)}`);
  const detail = element('span', { class: 'muted' }, ...facts);
  return element('li', { part: 'resource' }, element('span', { class: 'name' }, resourceKey), state, detail);
}

/** @param {FreshnessView['recentRuns'][number]} run @param {Words} text @param {string} lang */
function runItem({ status, resourceKey, startedAt, stats }, text, lang) {
  const facts = startedAt === null ? [] : [time(startedAt, lang), ' · '];
  const detail = element('span', { class: 'muted' }, ...facts, records(stats.recordsOut, text, lang));
  return element('li', {}, element('span', { class: 'name' }, resourceKey), text.run[status], detail);
}
