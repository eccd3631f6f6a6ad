import * as v from 'valibot';
import { type ConnectionName, findConnectionsPage } from '../../../db/queries/connections/connections.ts';
import { type ConnectionHealth, findConnectionHealth } from '../../../db/queries/connections/health.ts';
import { ConnectionStatus } from '../../core/resources/connection.ts';
import { healthOf, worst } from '../../core/schedule/freshness.ts';
import { field, filters, select } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { connectionBadge, connectionWords, healthBadge } from '../parts/status.ts';
import { nothing, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page } from '../route.ts';
import { choice, filterText } from './filters.ts';

export const connectionsPage = page({
  path: '/connections',
  query: v.object({ ...before('con'), status: choice(ConnectionStatus), text: filterText }),
  handle: async ({ scope, query, address }, { db }) => {
    const { status, text } = query;
    const isFiltered = status !== undefined || text !== undefined;
    const connections = await findConnectionsPage(db, scope, { status, text }, pageFrom(query));
    const ids = connections.rows.map(({ id }) => id);
    const health = await findConnectionHealth(db, scope, ids);
    return {
      title: 'Connections',
      section: 'connections',
      refreshSeconds: 10,
      body: html`${heading('Connections')}
        ${connectionFilters(query)}
        ${live('connections', connectionTable(connections.rows, { health, isFiltered }))}
        ${pager(connections, address)}`,
    };
  },
});

interface Filter {
  readonly status?: ConnectionStatus | undefined;
  readonly text?: string | undefined;
}

const connectionFilters = ({ status, text }: Filter): Html =>
  filters('/console/connections', [
    field({ name: 'text', label: 'Name or customer id', type: 'search', value: text ?? '' }),
    select({
      name: 'status',
      label: 'Status',
      value: status,
      options: [['', 'Any'], ...ConnectionStatus.options.map((option) => [option, connectionWords(option)] as const)],
    }),
  ]);

interface Shown {
  readonly health: readonly ConnectionHealth[];
  readonly isFiltered: boolean;
}

function connectionTable(rows: readonly ConnectionName[], { health, isFiltered }: Shown): Html {
  const healthById = new Map(health.map((one) => [one.connectionId, one]));
  return table({
    caption: 'Connections',
    rows,
    empty: isFiltered
      ? nothing('No connection passes this filter.', html`<a href="/console/connections">Show all connections</a>`)
      : nothing(
          'No connections yet.',
          html`Create one by <code>POST /api/v1/connections</code>, because secrets do not pass through this console. The <a href="/api/reference">API reference</a> has the request.`,
        ),
    columns: [
      {
        head: 'Connection',
        kind: 'wide',
        cell: ({ id, displayName }) => html`<a class="strong" href="/console/connections/${id}">${displayName}</a>`,
      },
      {
        head: 'Customer',
        cell: ({ externalCustomerId }) => externalCustomerId ?? html`<span class="muted">–</span>`,
      },
      {
        head: 'Spec',
        cell: ({ specKey, pinnedSpecVersion }) =>
          html`<a href="/console/specs/${specKey}/${pinnedSpecVersion}">${specKey} ${pinnedSpecVersion}</a>`,
      },
      { head: 'Status', cell: (connection) => connectionBadge(connection.status) },
      { head: 'Health', cell: ({ id }) => healthBadge(worst((healthById.get(id)?.facts ?? []).map(healthOf))) },
      { head: 'Last success', cell: ({ id }) => ago(healthById.get(id)?.lastSuccessAt ?? null) },
    ],
  });
}
