import * as v from 'valibot';
import { findNewestVersions } from '../../../../db/queries/specs.ts';
import { shippedCatalogue } from '../../../catalogue/catalogue.ts';
import type { CatalogueConnector } from '../../../core/resources/catalogue.ts';
import type { SpecVersionStatus } from '../../../core/resources/spec.ts';
import { field, filters, select } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { counted } from '../../parts/numbers.ts';
import { badge } from '../../parts/status.ts';
import { nothing } from '../../parts/table.ts';
import { page } from '../../route.ts';
import { filterText } from '../filters.ts';
import { authWords, verificationBadge, verifiedOn } from './connector-words.ts';

export const cataloguePage = page({
  path: '/catalogue',
  query: v.object({ text: filterText, tag: filterText }),
  handle: async ({ scope, query: { text, tag } }, { db }) => {
    const connectors = await shippedCatalogue.list();
    const shown = connectors.filter((connector) => isNamed(connector, text) && (!tag || connector.tags.includes(tag)));
    const versions = await findNewestVersions(
      db,
      scope,
      connectors.map(({ key }) => key),
    );
    const ours = new Map(versions.map(({ key, status }) => [key, status]));
    const tags = [...new Set(connectors.flatMap((connector) => connector.tags))].toSorted();
    return {
      title: 'Catalogue',
      section: 'catalogue',
      body: html`${heading('Catalogue', {
        about: `${counted(connectors.length, 'connector')} that are ready to use. Each says what it was verified against.`,
        actions: html`<a class="button" href="/console/new-spec">Write your own</a>`,
      })}
        ${filters('/console/catalogue', [
          field({ name: 'text', label: 'Name or resource', type: 'search', value: text ?? '' }),
          select({
            name: 'tag',
            label: 'Group',
            value: tag,
            options: [['', 'Any'], ...tags.map((one) => [one, one.replaceAll('-', ' ')] as const)],
          }),
        ])}
        ${
          shown.length === 0
            ? html`<div class="empty">${nothing('No connector passes this filter.', html`<a href="/console/catalogue">Show all connectors</a>, or <a href="/console/new-spec">write a spec of your own</a>.`)}</div>`
            : html`<ul class="connectors" aria-label="Connectors">${shown.map((connector) => tile(connector, ours.get(connector.key)))}</ul>`
        }`,
    };
  },
});

const isNamed = ({ key, name, description, tags, resources }: CatalogueConnector, text: string | undefined): boolean =>
  text === undefined ||
  [key, name, description, ...tags, ...resources].some((words) => words.toLowerCase().includes(text.toLowerCase()));

const resourcesShown = 6;

const tile = (connector: CatalogueConnector, ours: SpecVersionStatus | undefined): Html => {
  const { key, name, description, resources, authKind, verifiedAgainst } = connector;
  const more = resources.length - resourcesShown;
  return html`<li>
    <h2><a href="/console/catalogue/${key}">${name}</a>${ours === undefined ? '' : html` ${badge('good', 'In your specs')}`}</h2>
    <p>${description}</p>
    <p class="chips">${resources.slice(0, resourcesShown).map((resource) => html`<code>${resource}</code> `)}${more > 0 ? html`<span class="muted">and ${more} more</span>` : ''}</p>
    <dl><div><dt>Credentials</dt><dd>${authWords(authKind)}</dd></div>
      <div><dt>Verified against</dt><dd class="verified">${verificationBadge(verifiedAgainst)} <span class="muted">${verifiedOn(verifiedAgainst)}</span></dd></div></dl>
  </li>`;
};
