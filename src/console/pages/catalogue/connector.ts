import * as v from 'valibot';
import { findNewestVersions, findSpecVersion } from '../../../../db/queries/specs.ts';
import { nameParam } from '../../../api/inputs.ts';
import { shippedCatalogue } from '../../../catalogue/catalogue.ts';
import { createDraft } from '../../../control/specs/specs.ts';
import { found } from '../../../core/errors.ts';
import { SpecKey } from '../../../core/json/property-names.ts';
import type { CatalogueConnector } from '../../../core/resources/catalogue.ts';
import { storedSpec } from '../../../core/spec/connection/stored-spec.ts';
import type { ConnectionParam } from '../../../core/spec/schema/param-schema.ts';
import type { ConnectorSpec, Resource } from '../../../core/spec/schema/spec-schema.ts';
import { form, select } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { paragraphs } from '../../parts/help.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { versionBadge } from '../../parts/status.ts';
import { facts, section, table } from '../../parts/table.ts';
import { action, page, type Visit } from '../../route.ts';
import { versionPath } from '../specs/specs.ts';
import { authWords, verificationBadge, verifiedOn } from './connector-words.ts';
import { destinationKinds, withDestination } from './with-destination.ts';

const Params = v.object({ key: nameParam(SpecKey, { noun: 'Connector', example: 'github' }) });

export const connectorPage = page({
  path: '/catalogue/:key',
  params: Params,
  handle: async (visit, { db, defaultDestination }) => {
    const connector = found(await shippedCatalogue.find(visit.params.key), 'Connector');
    const { key, name, version, description, authKind, verifiedAgainst, spec } = connector;
    const [ours] = await findNewestVersions(db, visit.scope, [key]);
    const checked = storedSpec(spec, null);
    return {
      title: name,
      section: 'catalogue',
      trail: [['Catalogue', '/console/catalogue']],
      body: html`${heading(name, { about: description })}
        ${facts([
          ['Version', version],
          ['Credentials', authWords(authKind)],
          [
            'Verified against',
            html`<span class="verified">${verificationBadge(verifiedAgainst)} <span class="muted">${verifiedOn(verifiedAgainst)}</span></span>`,
          ],
          [
            'In your specs',
            ours
              ? html`<a href="${versionPath(key, ours.version)}">${ours.version}</a> ${versionBadge(ours.status)}`
              : html`<span class="muted">not yet</span>`,
          ],
        ])}
        ${section('Use it', ours?.version === version ? usedAlready(key, version) : useForm(visit, { key, hasDefault: defaultDestination !== null }))}
        ${checked.valid ? [section('Resources', resourceTable(checked.spec)), section('Asked of each customer', paramTable(checked.spec))] : null}
        ${['Credentials', 'Limits'].map((title) => pagePart(connector, title))}
        ${section('Verified against', html`<p class="prose">${verifiedAgainst.statement}</p>`)}
        ${checked.valid && checked.spec.metadata.docsUrl ? html`<p class="after"><a href="${checked.spec.metadata.docsUrl}" rel="noreferrer">Documentation of ${name}</a></p>` : ''}`,
    };
  },
});

const usedAlready = (key: string, version: string): Html =>
  html`<p>Your specs have this version. <a class="button primary" href="${versionPath(key, version)}">Open it</a></p>`;

const destinations = {
  default: 'the default destination of this deployment',
  postgres: 'a PostgreSQL database of the customer',
  sqlserver: 'an SQL Server database of the customer',
  webhook: 'a webhook of the customer',
} as const;

const useForm = (visit: Visit, { key, hasDefault }: { readonly key: string; readonly hasDefault: boolean }): Html =>
  form(visit, { action: `/console/catalogue/${key}`, class: 'stack panel' }, [
    select({
      name: 'destination',
      label: 'Its records go to',
      options: destinationKinds
        .filter((kind) => kind !== 'default' || hasDefault)
        .map((kind) => [kind, destinations[kind]] as const),
      hint: 'The draft has it as its destination; you can change it there before you publish.',
    }),
    html`<button class="primary">Use this connector</button>`,
  ]);

const resourceTable = ({ resources }: ConnectorSpec): Html =>
  table({
    caption: 'Resources',
    rows: resources,
    empty: null,
    columns: [
      { head: 'Resource', cell: ({ key }) => html`<code class="strong">${key}</code>` },
      {
        head: 'Each run reads',
        kind: 'wide',
        narrow: 'named',
        cell: ({ incremental }) => (incremental ? 'what changed since the last one' : 'everything'),
      },
      { head: 'Deletions', narrow: 'named', cell: ({ deletes }) => deletionWords[deletes.mode] },
    ],
  });

const deletionWords: Readonly<Record<Resource['deletes']['mode'], string>> = {
  none: 'are not noticed',
  flag: 'are marked by the API',
  full_scan: 'are what a complete read lacks',
  endpoint: 'are in a list of the API',
};

const paramTable = ({ connectionParams }: ConnectorSpec): Html =>
  table({
    caption: 'Asked of each customer',
    rows: connectionParams,
    empty: 'Nothing.',
    columns: [
      {
        head: 'Value',
        kind: 'wide',
        cell: ({ label, key, description }) =>
          html`<span class="strong">${label ?? key}</span>${description ? html`<br><span class="muted">${description}</span>` : ''}`,
      },
      { head: 'Kind', narrow: 'lead', cell: kindOf },
    ],
  });

const kindOf = ({ secret, required, default: given }: ConnectionParam): string => {
  if (secret) return required ? 'secret' : 'optional secret';
  return required && given === undefined ? 'required' : 'optional';
};

/** A section of the page of a connector; nothing without it. */
function pagePart({ readme }: CatalogueConnector, title: string): Content {
  const part = readme.split(/^## /m).find((one) => one.startsWith(`${title}\n`));
  return part === undefined
    ? null
    : section(title, html`<div class="prose">${paragraphs(part.slice(title.length).trim())}</div>`);
}

/** A draft of the connector; of a version that the org has, its page. Throws conflict (a limit is reached), 429. */
export const useConnector = action({
  path: '/catalogue/:key',
  params: Params,
  form: v.object({ destination: v.picklist(destinationKinds) }),
  handle: async ({ scope, params: { key }, form: { destination } }, deps) => {
    const connector = found(await shippedCatalogue.find(key), 'Connector');
    const to = versionPath(key, connector.version);
    if (await findSpecVersion(deps.db, scope, connector)) return { to };
    await deps.costly.run(scope.orgId, 'side_by_side', () =>
      createDraft(deps, scope, withDestination(connector, destination)),
    );
    return { to, notice: 'draft-from-catalogue' };
  },
});
