import * as v from 'valibot';
import { findConnection, findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { findRunsPage, type RunFilter } from '../../../db/queries/runs/run-list.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import { RunStatus, RunTrigger } from '../../core/resources/run.ts';
import { field, filters, select } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { runWords } from '../parts/status.ts';
import { nothing } from '../parts/table.ts';
import { page } from '../route.ts';
import { choice, filterText, filterTime, timeField } from './filters.ts';
import { runTable } from './run-table.ts';

export const runsPage = page({
  path: '/runs',
  query: v.object({
    ...before('run'),
    connectionId: filterText,
    resource: filterText,
    status: choice(RunStatus),
    trigger: choice(RunTrigger),
    errorCode: filterText,
    from: filterTime,
    to: filterTime,
  }),
  handle: async ({ scope, query, address }, { db }) => {
    const { connectionId, resource, status, trigger, errorCode, to: until } = query;
    // Without a start every run of the org would be read for an error that is rare.
    const since = query.from ?? (errorCode === undefined ? undefined : weekBefore(until));
    const filter = { connectionId, resource, status, trigger, errorCode, since, until };
    const connection =
      connectionId === undefined
        ? null
        : found(isId('con', connectionId) && (await findConnection(db, scope, connectionId)), 'Connection');
    const runs = await findRunsPage(db, scope, filter, pageFrom(query));
    const names = await findConnectionNames(
      db,
      scope,
      runs.rows.map((run) => run.connectionId),
    );
    const isFiltered = Object.values({ ...filter, connectionId: undefined }).some((value) => value !== undefined);
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
        ${runFilters(filter)}
        ${live(
          'runs',
          runTable(runs.rows, {
            nameOf: (id) => names.get(id) ?? 'a deleted connection',
            empty: isFiltered
              ? nothing('No run passes this filter.', html`<a href="/console/runs">Show all runs</a>`)
              : nothing(
                  'No runs yet.',
                  html`Start one on the page of a <a href="/console/connections">connection</a>.`,
                ),
          }),
        )}
        ${pager(runs, withStart(address, since))}`,
    };
  },
});

/** No earlier than what a database stores. */
const weekBefore = (until: string | undefined): string => {
  const weekAgo = (until === undefined ? Date.now() : Date.parse(until)) - 7 * 24 * 3_600_000;
  return new Date(Math.max(weekAgo, Date.parse('0001-01-01T00:00:00Z'))).toISOString();
};

/** The address with its start, so that older pages keep the one of the first. */
function withStart(address: string, since: string | undefined): string {
  const url = new URL(address, 'http://console');
  if (since !== undefined && !url.searchParams.get('from')) url.searchParams.set('from', timeField(since));
  return url.pathname + url.search;
}

const runFilters = ({ connectionId, resource, status, trigger, errorCode, since, until }: RunFilter): Html =>
  filters('/console/runs', [
    connectionId === undefined ? null : html`<input type="hidden" name="connectionId" value="${connectionId}">`,
    resource === undefined ? null : html`<input type="hidden" name="resource" value="${resource}">`,
    select({
      name: 'status',
      label: 'Status',
      value: status,
      options: [['', 'Any'], ...RunStatus.options.map((option) => [option, runWords(option)] as const)],
    }),
    select({
      name: 'trigger',
      label: 'Trigger',
      value: trigger,
      options: [['', 'Any'], ...RunTrigger.options.map((option) => [option, option] as const)],
    }),
    field({ name: 'errorCode', label: 'Error code', value: errorCode ?? '' }),
    field({ name: 'from', label: 'From (UTC)', type: 'datetime-local', value: timeField(since) }),
    field({ name: 'to', label: 'To (UTC)', type: 'datetime-local', value: timeField(until) }),
  ]);
