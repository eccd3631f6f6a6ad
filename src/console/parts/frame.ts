import type { OrgPlace } from '../../../db/queries/orgs/workspaces.ts';
import { assetPath } from '../assets.ts';
import type { Section, View, Visit } from '../route.ts';
import { button } from './form.ts';
import { type Content, type Html, html } from './html.ts';
import { noticeAt } from './notices.ts';
import { kindMark } from './status.ts';

const names: Readonly<Record<Section, string>> = {
  overview: 'Overview',
  connections: 'Connections',
  runs: 'Runs',
  quarantine: 'Quarantine',
  endpoints: 'Endpoints',
  deliveries: 'Deliveries',
  catalogue: 'Catalogue',
  specs: 'Specs',
  hooks: 'Hooks',
  'api-keys': 'API keys',
};

const pathOf = (section: string): string => (section === 'overview' ? '/console' : `/console/${section}`);

export const document = (title: string, body: Content): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Connector Sync</title>
<link rel="icon" href="${assetPath('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('console.css')}">
<script src="${assetPath('console.js')}" defer></script>
</head>
${body}
</html>`;

export function framed(view: View, visit: Pick<Visit, 'session' | 'address'>, place?: OrgPlace): Html {
  const notice = noticeAt(visit.address);
  return document(
    view.title,
    html`<body>
<a class="skip" href="#main">Skip to the content</a>
<div class="shell">
  <header class="side">
    <a class="brand" href="/console">${mark}<span>Connector Sync</span></a>
    ${place ? whose(place) : ''}
    ${finder(visit.address)}
    <nav aria-label="Console"><ul>${Object.entries(names).map(
      ([section, name]) =>
        html`<li><a href="${pathOf(section)}" ${section === view.section ? html`aria-current="page"` : ''}>${name}</a></li>`,
    )}</ul></nav>
    <div class="foot">${button(visit, { action: '/console/sign-out', label: 'Sign out' })}</div>
  </header>
  <main id="main" tabindex="-1" ${view.refreshSeconds ? html`data-refresh="${view.refreshSeconds}"` : ''}>
    ${trail(view)}
    ${notice === null ? '' : html`<p class="notice" role="status">${notice}</p>`}
    ${view.body}
  </main>
</div>
</body>`,
  );
}

/** The org, and the workspaces that the console shows: all of them. */
function whose({ name, workspaces }: OrgPlace): Html {
  const [first, ...others] = workspaces;
  const kinds = [...new Set(workspaces.map(({ kind }) => kind))];
  return html`<p class="whose"><span class="strong">${name}</span>${
    first && (others.length > 0 || first.name !== first.kind)
      ? html`<span class="muted">${others.length === 0 ? first.name : 'All workspaces'}</span>`
      : ''
  }${kinds.map(kindMark)}</p>`;
}

/** Without the script a form; the script opens it as a dialog. */
const finder = (address: string): Html => {
  const { pathname, searchParams } = new URL(address, 'http://console');
  const value = pathname === '/console/find' ? (searchParams.get('q') ?? '') : '';
  return html`<form role="search" class="finder" action="/console/find">
    <input type="search" name="q" value="${value}" aria-label="Find" placeholder="Find" autocomplete="off" spellcheck="false">
    <kbd hidden>Ctrl K</kbd></form>`;
};

const trail = ({ trail: above }: View): Content =>
  above
    ? html`<nav class="trail" aria-label="Pages above"><ol>${above.map(
        ([label, href]) => html`<li><a href="${href}">${label}</a></li>`,
      )}</ol></nav>`
    : null;

export const mark = html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><rect x="1" y="1" width="22" height="22" rx="6"/><path d="M6 9h9l-3-3M18 15H9l3 3"/></svg>`;

export const heading = (
  title: string,
  { state = null, about = null, actions = null }: { state?: Content; about?: Content; actions?: Content } = {},
): Html => html`<div class="heading">
  <div><h1>${title}</h1>${state}${about ? html`<p class="about">${about}</p>` : ''}</div>
  ${actions ? html`<div class="actions">${actions}</div>` : ''}
</div>`;

/** A part that the script replaces on refresh, unless it has the focus. */
export const live = (id: string, content: Content): Html => html`<div id="${id}" data-live>${content}</div>`;
