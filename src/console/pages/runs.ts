import * as v from 'valibot';
import { findConnection, findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { findRunsPage, type RunFilter } from '../../../db/queries/runs/run-list.ts';
import { cancelRun, replayRun } from '../../control/runs/runs.ts';
import { readRunWaits } from '../../control/runs/waits.ts';
import { found } from '../../core/errors.ts';
import { isId, timeOfId } from '../../core/ids.ts';
import { RunStatus, RunTrigger } from '../../core/resources/run.ts';
import { field, filters, select } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { runWords } from '../parts/status.ts';
import { nothing } from '../parts/table.ts';
import { type ConsoleDeps, page, type Visit } from '../route.ts';
import type { OpenConnection } from './connection-frame.ts';
import { choice, filterText, filterTime, timeField, weekBefore, withStart } from './filters.ts';
import { runTable } from './run-table.ts';
import { waitWords } from './run-wait.ts';
import { selection } from './selection.ts';

export const RunsQuery = {
  ...before('run'),
  resource: filterText,
  status: choice(RunStatus),
  trigger: choice(RunTrigger),
  errorCode: filterText,
  from: filterTime,
  to: filterTime,
};

export const runsPage = page({
  path: '/runs',
  query: v.object({ ...RunsQuery, connectionId: filterText, id: filterText }),
  handle: async (visit, deps) => {
    const { connectionId, ...query } = visit.query;
    const connection =
      connectionId === undefined
        ? null
        : found(isId('con', connectionId) && (await findConnection(deps.db, visit.scope, connectionId)), 'Connection');
    return {
      title: connection ? `Runs of ${connection.displayName}` : 'Runs',
      section: 'runs',
      refreshSeconds: 5,
      ...(connection && {
        trail: [
          ['Connections', '/console/connections'],
          [connection.displayName, `/console/connections/${connection.id}`],
        ] as const,
      }),
      body: html`${heading('Runs', { about: connection ? `of ${connection.displayName}` : null })}
        ${await runList(visit, deps, { query: { connectionId, ...query }, of: null })}`,
    };
  },
});

interface Listed {
  readonly query: Omit<RunFilter, 'since' | 'until' | 'limit'> & {
    readonly from?: string | undefined;
    readonly to?: string | undefined;
    readonly before?: string | undefined;
  };
  /** The connection on whose page the list stands; `null` for the list of all. */
  readonly of: Pick<OpenConnection, 'connection' | 'resourceKeys'> | null;
}

/** Runs with their filters. On the page of a connection those that have not ended also say what they wait for. */
export async function runList(visit: Visit, deps: ConsoleDeps, { query, of }: Listed): Promise<Html> {
  const { scope, address } = visit;
  const { before: _before, from, to: until, ...given } = query;
  const connectionId = of?.connection.id ?? given.connectionId;
  // Without a start every run of the org would be read for what is rare.
  const { errorCode, status, trigger, resource } = given;
  const isRare =
    given.id === undefined &&
    [errorCode, status, trigger, connectionId === undefined ? resource : undefined].some((one) => one !== undefined);
  const filter = { ...given, connectionId, since: from ?? (isRare ? weekBefore(until) : undefined), until };
  const runs = await findRunsPage(deps.db, scope, filter, pageFrom(query));
  const [names, waits] = await Promise.all([
    of === null
      ? findConnectionNames(
          deps.db,
          scope,
          runs.rows.map((run) => run.connectionId),
        )
      : new Map<string, string>(),
    readRunWaits(deps, scope, of === null ? [] : runs.rows.flatMap((run) => (run.finishedAt === null ? run.id : []))),
  ]);
  const nameOf = (id: string) => names.get(id) ?? 'a deleted connection';
  const isFiltered = Object.values({ ...filter, connectionId: undefined }).some((value) => value !== undefined);
  const list = runTable(runs.rows, {
    ...(of === null && { nameOf }),
    waitOf: ({ id }) => waitWords(waits.get(id)),
    select: selectedRuns.column(({ id, resourceKey }) => `the run of ${resourceKey} of ${timeOfId(id).toISOString()}`),
    empty: emptyWords({ isFiltered, of }),
  });
  return html`${runFilters(filter, of)}
    ${live('runs', runs.rows.length === 0 ? list : selectedRuns.form(visit, list))}
    ${pager(runs, withStart(address, filter.since))}`;
}

const emptyWords = ({ isFiltered, of }: Pick<Listed, 'of'> & { readonly isFiltered: boolean }): Content => {
  const address = of === null ? '/console/runs' : `/console/connections/${of.connection.id}/runs`;
  if (isFiltered) return nothing('No run passes this filter.', html`<a href="${address}">Show all runs</a>`);
  return nothing(
    'No runs yet.',
    of === null
      ? html`Start one on the page of a <a href="/console/connections">connection</a>.`
      : 'Activate the connection, then sync a resource.',
  );
};

/** Throws as the single actions do. */
export const selectedRuns = selection({
  path: '/runs/selected',
  prefix: 'run',
  noun: 'run',
  section: 'runs',
  acts: {
    cancel: {
      label: 'Cancel',
      confirm: 'Cancel the selected runs? Delivered records stay.',
      notice: 'canceled-many',
      run: cancelRun,
    },
    replay: { label: 'Run again', notice: 'replayed-many', run: replayRun },
  },
});

const runFilters = (
  { connectionId, id, resource, status, trigger, errorCode, since, until }: RunFilter,
  of: Listed['of'],
): Html =>
  filters(
    of === null ? '/console/runs' : `/console/connections/${of.connection.id}/runs`,
    [
      select({
        name: 'status',
        label: 'Status',
        value: status,
        options: [['', 'Any'], ...RunStatus.options.map((option) => [option, runWords(option)] as const)],
      }),
      of === null
        ? field({ name: 'resource', label: 'Resource', value: resource ?? '' })
        : select({
            name: 'resource',
            label: 'Resource',
            value: resource,
            options: [['', 'Any'], ...of.resourceKeys.map((key) => [key, key] as const)],
          }),
      field({ name: 'errorCode', label: 'Error code', value: errorCode ?? '' }),
    ],
    {
      open: [connectionId !== of?.connection.id, id, trigger, since, until].some(Boolean),
      content: [
        select({
          name: 'trigger',
          label: 'Trigger',
          value: trigger,
          options: [['', 'Any'], ...RunTrigger.options.map((option) => [option, option] as const)],
        }),
        field({ name: 'from', label: 'From (UTC)', type: 'datetime-local', value: timeField(since) }),
        field({ name: 'to', label: 'To (UTC)', type: 'datetime-local', value: timeField(until) }),
        ...(of === null
          ? [
              field({ name: 'connectionId', label: 'Connection id', value: connectionId ?? '' }),
              field({ name: 'id', label: 'Run id', value: id ?? '' }),
            ]
          : []),
      ],
    },
  );
