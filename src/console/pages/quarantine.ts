import * as v from 'valibot';
import type { Db } from '../../../db/client.ts';
import type { Page } from '../../../db/page.ts';
import { findConnection, findConnectionNames } from '../../../db/queries/connections/connections.ts';
import {
  countQuarantine,
  findQuarantinePage,
  findQuarantineReasons,
  groupedMax,
  type QuarantineCount,
  type QuarantineFilter,
  type QuarantineLine,
  type QuarantineReason,
} from '../../../db/queries/runs/records/quarantine.ts';
import { findRun } from '../../../db/queries/runs/runs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { QueryText } from '../../api/query-inputs.ts';
import { requeueRecord } from '../../control/runs/requeue.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import { button } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { count } from '../parts/numbers.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { nothing, section, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { type ConsoleDeps, page, type View, type Visit } from '../route.ts';
import { ConnectionParams, connectionView, openConnection } from './connection-frame.ts';
import { filterText } from './filters.ts';
import { selection } from './selection.ts';

const resourcesMax = 100;
const reasonsMax = 20;

const RecordsQuery = {
  ...before('quar'),
  resource: filterText,
  runId: filterText,
  path: v.optional(QueryText),
  message: v.optional(QueryText),
};

export const quarantinePage = page({
  path: '/quarantine',
  query: v.object({ ...RecordsQuery, connectionId: filterText }),
  handle: async (visit, { db }) => {
    const { scope, query } = visit;
    const { runId } = query;
    const run = runId === undefined ? null : found(isId('run', runId) && (await findRun(db, scope, runId)), 'Run');
    const connectionId = run?.connectionId ?? query.connectionId;
    if (connectionId === undefined) {
      const counts = await countQuarantine(db, scope, { limit: resourcesMax });
      const names = await findConnectionNames(
        db,
        scope,
        counts.map((one) => one.connectionId),
      );
      return overviewOf(
        counts.filter((one) => names.has(one.connectionId)),
        names,
      );
    }
    const connection = found(
      isId('con', connectionId) && (await findConnection(db, scope, connectionId)),
      'Connection',
    );
    const { displayName } = connection;
    const subject = query.resource === undefined ? displayName : `${query.resource} of ${displayName}`;
    return {
      title: `Quarantine: ${subject}`,
      section: 'quarantine',
      trail: [
        ['Quarantine', '/console/quarantine'],
        [displayName, `/console/connections/${connectionId}`],
      ],
      body: html`${heading('Quarantined records', {
        about: html`${subject}${runId === undefined ? '' : html` · of <a href="/console/runs/${runId}">one run</a>`}`,
      })}
      ${await quarantineList(visit, db, { connection, query })}`,
    };
  },
});

export const connectionQuarantine = page({
  path: '/connections/:id/quarantine',
  params: ConnectionParams,
  query: v.object(RecordsQuery),
  handle: async (visit, deps) => {
    const opened = await openConnection(deps, visit.scope, visit.params.id);
    const body = await quarantineList(visit, deps.db, { connection: opened.connection, query: visit.query });
    return connectionView(visit, opened, { tab: '/quarantine', body });
  },
});

const overviewOf = (counts: readonly QuarantineCount[], names: ReadonlyMap<string, string>): View => ({
  title: 'Quarantine',
  section: 'quarantine',
  refreshSeconds: 15,
  body: html`${heading('Quarantine', { about: 'Records that were stored with their errors instead of being delivered.' })}
    <div id="counts" data-live>${table({
      caption: 'Quarantined records by resource',
      rows: counts,
      empty: nothing(
        'No record is quarantined.',
        html`A record goes here when it breaks the rules of its spec, and the resource has <code>onInvalid: quarantine</code>.`,
      ),
      columns: [
        {
          head: 'Connection',
          kind: 'wide',
          cell: ({ connectionId }) =>
            html`<a href="/console/connections/${connectionId}">${names.get(connectionId) ?? ''}</a>`,
        },
        {
          head: 'Resource',
          narrow: 'lead',
          cell: ({ resourceKey }) => html`<span class="strong">${resourceKey}</span>`,
        },
        {
          head: 'Records',
          kind: 'number',
          narrow: 'named',
          cell: ({ connectionId, resourceKey, records }) =>
            html`<a href="${addressOf(connectionId, { resource: resourceKey })}">${count(records)}</a>`,
        },
      ],
    })}</div>`,
});

/** The page of the quarantined records of a connection. */
export const addressOf = (connectionId: string, of: Omit<QuarantineFilter, 'connectionId'> = {}): string => {
  const given = Object.entries(of).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  return `/console/connections/${connectionId}/quarantine${query === '' ? '' : `?${query}`}`;
};

interface Listed {
  readonly connection: ConnectionRow;
  readonly query: Omit<QuarantineFilter, 'connectionId'> & { readonly before?: string | undefined };
}

/** The quarantined records of a connection by their reasons, and one by one. */
async function quarantineList(visit: Visit, db: Db, { connection, query }: Listed): Promise<Html> {
  const { scope, address } = visit;
  const { before: _before, ...of } = query;
  const filter = { connectionId: connection.id, ...of };
  const isOfReason = of.path !== undefined || of.message !== undefined;
  const isPart = isOfReason || of.runId !== undefined;
  const [records, reasons] = await Promise.all([
    findQuarantinePage(db, scope, filter, pageFrom(query)),
    query.before === undefined && !isOfReason ? findQuarantineReasons(db, scope, { ...filter, limit: reasonsMax }) : [],
  ]);
  if (records.rows.length === 0) {
    const next = html`<a href="/console/quarantine">All quarantined records</a>`;
    return html`${isPart ? partOf(filter) : ''}<div class="empty">${nothing('No record is quarantined here.', next)}</div>
      ${pager(records, address)}`;
  }
  return html`${isPart ? partOf(filter) : ''}
    ${reasons.length === 0 ? '' : reasonTable(filter, reasons)}
    ${section('Records', selectionOf(visit, records), isPart ? null : requeueAllButton(visit, connection, of.resource))}
    ${pager(records, address)}`;
}

function requeueAllButton(visit: Visit, { id, displayName }: ConnectionRow, resource: string | undefined): Html {
  const subject = resource === undefined ? displayName : `${resource} of ${displayName}`;
  return button(visit, {
    action: '/console/quarantine/requeue-all',
    label: 'Requeue all',
    confirm: `Requeue every quarantined record of ${subject}? The next run begins with them.`,
    fields: { connectionId: id, ...(resource === undefined ? {} : { resource }) },
  });
}

/** The reason that the list is about, and the way to the whole list. */
const partOf = ({ connectionId, path, message }: QuarantineFilter): Html =>
  html`<p class="notice">${
    path === undefined && message === undefined ? 'These records are of one run.' : errorWords({ path, message })
  } <a href="${addressOf(connectionId)}">All quarantined records of the connection</a></p>
  ${path === undefined && message === undefined ? '' : amongNewest}`;

const amongNewest = html`<p class="hint">Looked for among the newest ${count(groupedMax)} records.</p>`;

const reasonTable = ({ connectionId, ...of }: QuarantineFilter, reasons: readonly QuarantineReason[]): Html =>
  section('Reasons', [
    table({
      caption: 'Reasons',
      rows: reasons,
      empty: null,
      columns: [
        { head: 'Reason', kind: 'wide', cell: errorWords },
        {
          head: 'Records',
          kind: 'number',
          narrow: 'named',
          cell: ({ path, message, records }) =>
            html`<a href="${addressOf(connectionId, { ...of, path, message })}">${count(records)}</a>`,
        },
        { head: 'Example', kind: 'wide', cell: exampleOf },
      ],
    }),
    amongNewest,
  ]);

/** The newest record of a reason, its field marked. */
const exampleOf = ({ path, example: { id, externalId, value } }: QuarantineReason): Html =>
  html`<a href="/console/quarantine/${id}">${externalId}</a> ${
    path === ''
      ? ''
      : value === null
        ? html`<span class="muted">has no <mark>${path}</mark> as it was read</span>`
        : html`<code class="clip">${path}: <mark>${value}</mark></code>`
  }`;

const isRequeued = async (deps: ConsoleDeps, scope: OrgScope, id: string): Promise<boolean> =>
  (await requeueRecord(deps, scope, id)).isRequeued;

/** Each is requeued in a transaction of its own. */
export const requeueSelected = selection({
  path: '/quarantine/requeue',
  prefix: 'quar',
  noun: 'record',
  section: 'quarantine',
  acts: {
    requeue: { label: 'Requeue the selected', notice: 'requeued-many', run: isRequeued },
  },
});

const selectionOf = (visit: Visit, records: Page<QuarantineLine>): Html =>
  requeueSelected.form(
    visit,
    table({
      caption: 'Quarantined records',
      rows: records.rows,
      empty: null,
      columns: [
        requeueSelected.column(({ externalId }: QuarantineLine) => externalId),
        {
          head: 'Record',
          narrow: 'lead',
          cell: ({ id, externalId }) => html`<a class="strong" href="/console/quarantine/${id}">${externalId}</a>`,
        },
        { head: 'Resource', cell: ({ resourceKey }) => resourceKey },
        { head: 'What is wrong', kind: 'wide', cell: ({ firstError }) => errorWords(firstError) },
        {
          head: 'Begins with',
          kind: 'wide',
          narrow: 'out',
          cell: ({ beginning }) => html`<code class="muted clip">${beginning}</code>`,
        },
        { head: 'Since', narrow: 'lead', cell: ({ createdAt }) => ago(createdAt) },
      ],
    }),
  );

/** The field of a stored error; empty: the record as a whole. */
export const pathOf = (error: { readonly path?: unknown } | null): string =>
  typeof error?.path === 'string' ? error.path : '';

export function errorWords(error: { readonly path?: unknown; readonly message?: unknown } | null): Html {
  const path = pathOf(error);
  const message = typeof error?.message === 'string' && error.message !== '' ? error.message : 'no reason is stored';
  return html`${path === '' ? '' : html`<code>${path}</code> `}${message}`;
}
