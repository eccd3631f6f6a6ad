import type { PinnedConnection } from '../../../db/queries/connections/connections.ts';
import { findWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { storedSpec } from '../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import { json } from '../parts/code.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { duration } from '../parts/numbers.ts';
import { workspaceWords } from '../parts/status.ts';
import { facts, section, table } from '../parts/table.ts';
import { page } from '../route.ts';
import { connectSessionPart } from './connect-session.ts';
import { ConnectionParams, connectionView, openConnection, specLink } from './connection-frame.ts';

export const connectionSettings = page({
  path: '/connections/:id/settings',
  params: ConnectionParams,
  handle: async (visit, deps) => {
    const { scope, params } = visit;
    const opened = await openConnection(deps, scope, params.id);
    const { connection } = opened;
    const workspace = await findWorkspace(deps.db, scope, connection.workspaceId);
    const stored = storedSpec(connection.specJson, connection.specOverridesJson);
    return connectionView(visit, opened, {
      tab: '/settings',
      body: html`${facts([
        ['Spec', specLink(connection)],
        ['Customer', connection.externalCustomerId ?? html`<span class="muted">–</span>`],
        ['Workspace', workspace ? workspaceWords(workspace) : '–'],
        ['In error after', errorAfter(connection.errorAfterMinutes)],
        ['Id of the connection', html`<code>${connection.id}</code>`],
        ['Id of the workspace', html`<code>${connection.workspaceId}</code>`],
        ['Id of the spec', html`<code>${connection.specId}</code>`],
      ])}
        ${section('Destination', stored.valid ? destination(stored.spec) : html`<p class="muted">The spec breaks the rules of today: upgrade the connection to another version.</p>`)}
        ${section(
          'Values',
          values(connection, stored.valid ? stored.spec : null),
          html`<a class="button" href="/console/connections/${connection.id}/edit">Edit</a>`,
        )}
        ${connectSessionPart(visit, connection.id)}`,
    });
  },
});

const errorAfter = (minutes: number): string =>
  minutes === 0 ? 'the first refusal' : `${duration(minutes * 60_000)} of refusals`;

/** Its kind and tables; addresses and secrets are in the spec and in the values. */
const destination = ({ destination: to, resources }: ConnectorSpec): Content => [
  html`<p>${to === undefined ? 'The default destination of this deployment.' : html`Kind <code>${to.kind}</code>, as the spec declares.`}</p>`,
  table({
    caption: 'Where resources go',
    rows: resources,
    empty: null,
    columns: [
      { head: 'Resource', cell: ({ key }) => html`<span class="strong">${key}</span>` },
      {
        head: 'Table',
        kind: 'wide',
        narrow: 'named',
        cell: ({ target }) =>
          to?.kind === 'webhook'
            ? html`<span class="muted">none: batches are posted</span>`
            : html`<code>${target.schema === undefined ? '' : `${target.schema}.`}${target.table}</code>`,
      },
      { head: 'Mode', narrow: 'lead', cell: ({ target }) => target.mode },
    ],
  }),
];

function values({ paramsJson, specOverridesJson }: PinnedConnection, spec: ConnectorSpec | null): Html {
  const secrets = (spec?.connectionParams ?? []).filter(({ secret }) => secret).map(({ key }) => key);
  return html`<h3>Params</h3>${json(paramsJson, 'Params')}
    ${specOverridesJson === null ? '' : html`<h3>Overrides of the spec</h3>${json(specOverridesJson, 'Overrides of the spec')}`}
    <p class="hint">${secrets.length === 0 ? '' : html`Secrets that the spec takes: <code>${secrets.join(', ')}</code>. `}Secrets
      are never shown.</p>`;
}
