import * as v from 'valibot';
import {
  type ConnectionFilter,
  type ConnectionName,
  findConnectionNames,
  findConnectionsPage,
  findPinnedConnection,
} from '../../../db/queries/connections/connections.ts';
import { type ConnectionHealth, findConnectionHealth } from '../../../db/queries/connections/health.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { activateConnection, pauseConnection } from '../../control/connections/connections.ts';
import { requestRun } from '../../control/runs/runs.ts';
import { found } from '../../core/errors.ts';
import { ConnectionStatus } from '../../core/resources/connection.ts';
import { Health } from '../../core/resources/freshness.ts';
import { healthOf, worst } from '../../core/schedule/freshness.ts';
import { resourceKeysOf } from '../../core/spec/connection/resource-keys.ts';
import { field, filters, select } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { connectionBadge, connectionWords, healthBadge, healthWords } from '../parts/status.ts';
import { nothing, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { type ConsoleDeps, page } from '../route.ts';
import { choice, filterText } from './filters.ts';
import { selection } from './selection.ts';

export const connectionsPage = page({
  path: '/connections',
  query: v.object({
    ...before('con'),
    status: choice(ConnectionStatus),
    health: choice(Health),
    spec: filterText,
    text: filterText,
  }),
  handle: async (visit, { db }) => {
    const { scope, query, address } = visit;
    const { status, health: ofHealth, spec, text } = query;
    const isFiltered = [status, ofHealth, spec, text].some((value) => value !== undefined);
    const connections = await findConnectionsPage(db, scope, { status, health: ofHealth, spec, text }, pageFrom(query));
    const ids = connections.rows.map(({ id }) => id);
    const health = await findConnectionHealth(db, scope, ids);
    return {
      title: 'Connections',
      section: 'connections',
      refreshSeconds: 10,
      body: html`${heading('Connections', {
        actions: html`<a class="button primary" href="/console/new-connection">Create a connection</a>`,
      })}
        ${connectionFilters(query)}
        ${live(
          'connections',
          ids.length === 0
            ? connectionTable([], { health, isFiltered })
            : selectedConnections.form(visit, connectionTable(connections.rows, { health, isFiltered })),
        )}
        ${pager(connections, address)}`,
    };
  },
});

const connectionFilters = ({ status, health, spec, text }: ConnectionFilter): Html =>
  filters('/console/connections', [
    field({ name: 'text', label: 'Name or customer id', type: 'search', value: text ?? '' }),
    select({
      name: 'status',
      label: 'Status',
      value: status,
      options: [['', 'Any'], ...ConnectionStatus.options.map((option) => [option, connectionWords(option)] as const)],
    }),
    select({
      name: 'health',
      label: 'Health',
      value: health,
      options: [['', 'Any'], ...Health.options.map((option) => [option, healthWords(option)] as const)],
    }),
    field({ name: 'spec', label: 'Key of the spec', value: spec ?? '' }),
  ]);

/** Throws as the single actions do. */
export const selectedConnections = selection({
  path: '/connections/selected',
  prefix: 'con',
  noun: 'connection',
  section: 'connections',
  namesOf: ({ db }, scope, ids) => findConnectionNames(db, scope, ids),
  acts: {
    sync: { label: 'Sync', notice: 'synced-many', parts: { noun: 'sync', of: resourcesOf }, run: syncOne },
    pause: {
      label: 'Pause',
      confirm: 'Pause the selected connections? Their queued and running runs are canceled.',
      notice: 'paused-many',
      run: pauseConnection,
    },
    activate: { label: 'Activate', notice: 'activated-many', run: activateConnection },
  },
});

async function resourcesOf({ db }: ConsoleDeps, scope: OrgScope, connectionId: string): Promise<readonly string[]> {
  const { specJson, specOverridesJson } = found(await findPinnedConnection(db, scope, connectionId), 'Connection');
  return resourceKeysOf(specJson, specOverridesJson);
}

function syncOne(deps: ConsoleDeps, scope: OrgScope, connectionId: string, resourceKey: string) {
  return requestRun(deps, scope, { connectionId, resourceKey, trigger: 'manual', backfill: null });
}

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
          html`<a href="/console/new-connection">Create the first one</a>. Your program does the same by <code>POST /api/v1/connections</code> (<a href="/api/reference">API reference</a>).`,
        ),
    columns: [
      selectedConnections.column(({ displayName }: ConnectionName) => displayName),
      {
        head: 'Connection',
        kind: 'wide',
        narrow: 'lead',
        cell: ({ id, displayName }) => html`<a class="strong" href="/console/connections/${id}">${displayName}</a>`,
      },
      {
        head: 'Customer',
        narrow: 'out',
        cell: ({ externalCustomerId }) => externalCustomerId ?? html`<span class="muted">–</span>`,
      },
      {
        head: 'Spec',
        cell: ({ specKey, pinnedSpecVersion }) =>
          html`<a href="/console/specs/${specKey}/${pinnedSpecVersion}">${specKey} ${pinnedSpecVersion}</a>`,
      },
      { head: 'Status', cell: (connection) => connectionBadge(connection.status) },
      {
        head: 'Health',
        narrow: 'lead',
        cell: ({ id }) => healthBadge(worst((healthById.get(id)?.facts ?? []).map(healthOf))),
      },
      { head: 'Last success', narrow: 'named', cell: ({ id }) => ago(healthById.get(id)?.lastSuccessAt ?? null) },
    ],
  });
}
