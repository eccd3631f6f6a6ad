import * as v from 'valibot';
import { findConnectionsPage } from '../../../db/queries/connections/connections.ts';
import { findConnectionHealth } from '../../../db/queries/connections/health.ts';
import { ConnectionStatus } from '../../core/resources/connection.ts';
import { healthOf, worst } from '../../core/schedule/freshness.ts';
import { field, filters, select } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { connectionBadge, connectionWords, healthBadge } from '../parts/status.ts';
import { nothing, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page } from '../route.ts';
import { choice, filterText } from './filters.ts';

/** The connections of the org. */
export const connectionsPage = page({
  path: '/connections',
  query: v.object({ ...before('con'), status: choice(ConnectionStatus), text: filterText }),
  handle: async ({ scope, query, address }, { db }) => {
    const { status, text } = query;
    const connections = await findConnectionsPage(db, scope, { status, text }, pageFrom(query));
    const health = new Map(
      (
        await findConnectionHealth(
          db,
          scope,
          connections.rows.map(({ id }) => id),
        )
      ).map((one) => [one.connectionId, one]),
    );
    return {
      title: 'Connections',
      section: 'connections',
      refreshSeconds: 10,
      body: html`${heading('Connections')}
        ${filters('/console/connections', [
          field({ name: 'text', label: 'Name or customer id', type: 'search', value: text ?? '' }),
          select({
            name: 'status',
            label: 'Status',
            value: status,
            options: [
              ['', 'Any'],
              ...ConnectionStatus.options.map((option) => [option, connectionWords(option)] as const),
            ],
          }),
        ])}
        ${live(
          'connections',
          table({
            caption: 'Connections',
            rows: connections.rows,
            empty:
              status === undefined && text === undefined
                ? nothing(
                    'No connections yet.',
                    html`Create one by <code>POST /api/v1/connections</code>, because secrets do not pass through this console. The <a href="/api/reference">API reference</a> has the request.`,
                  )
                : nothing(
                    'No connection passes this filter.',
                    html`<a href="/console/connections">Show all connections</a>`,
                  ),
            columns: [
              {
                head: 'Connection',
                kind: 'wide',
                cell: ({ id, displayName }) =>
                  html`<a class="strong" href="/console/connections/${id}">${displayName}</a>`,
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
              { head: 'Health', cell: ({ id }) => healthBadge(worst((health.get(id)?.facts ?? []).map(healthOf))) },
              { head: 'Last success', cell: ({ id }) => ago(health.get(id)?.lastSuccessAt ?? null) },
            ],
          }),
        )}
        ${pager(connections, address)}`,
    };
  },
});
