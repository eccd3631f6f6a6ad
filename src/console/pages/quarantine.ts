import * as v from 'valibot';
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
import { QueryText } from '../../api/query-inputs.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import { button, form } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { count, counted } from '../parts/numbers.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { nothing, section, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page, type View, type Visit } from '../route.ts';
import { filterText } from './filters.ts';

const resourcesMax = 100;
const reasonsMax = 20;

export const quarantinePage = page({
  path: '/quarantine',
  query: v.object({
    ...before('quar'),
    connectionId: filterText,
    resource: filterText,
    runId: filterText,
    path: v.optional(QueryText),
    message: v.optional(QueryText),
  }),
  handle: async (visit, { db }) => {
    const { scope, query } = visit;
    const { resource, runId, path, message } = query;
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
    const filter = { connectionId, resource, runId, path, message };
    const isOfReason = path !== undefined || message !== undefined;
    const [records, reasons] = await Promise.all([
      findQuarantinePage(db, scope, filter, pageFrom(query)),
      query.before === undefined && !isOfReason
        ? findQuarantineReasons(db, scope, { ...filter, limit: reasonsMax })
        : [],
    ]);
    return listOf(visit, { connection, filter, records, reasons });
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
  const given = Object.entries({ connectionId, ...of }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return `/console/quarantine?${new URLSearchParams(given).toString()}`;
};

interface Listed {
  readonly connection: ConnectionRow;
  readonly filter: QuarantineFilter;
  readonly records: Page<QuarantineLine>;
  readonly reasons: readonly QuarantineReason[];
}

function listOf(visit: Visit, { connection, filter, records, reasons }: Listed): View {
  const { resource, runId, path, message } = filter;
  const isPart = [runId, path, message].some((value) => value !== undefined);
  const subject = resource === undefined ? connection.displayName : `${resource} of ${connection.displayName}`;
  const hasRows = records.rows.length > 0;
  return {
    title: `Quarantine: ${subject}`,
    section: 'quarantine',
    trail: [
      ['Quarantine', '/console/quarantine'],
      [connection.displayName, `/console/connections/${connection.id}`],
    ],
    body: html`${heading('Quarantined records', {
      about: html`${subject}${runId === undefined ? '' : html` · of <a href="/console/runs/${runId}">one run</a>`}`,
      actions:
        hasRows && !isPart
          ? button(visit, {
              action: '/console/quarantine/requeue-all',
              label: 'Requeue all',
              confirm: `Requeue every quarantined record of ${subject}? The next run begins with them.`,
              fields: { connectionId: connection.id, ...(resource === undefined ? {} : { resource }) },
            })
          : null,
    })}
    ${isPart ? partOf(filter) : ''}
    ${reasons.length === 0 ? '' : reasonTable(filter, reasons)}
    ${hasRows ? selection(visit, { filter, records }) : html`<div class="empty">${nothing('No record is quarantined here.', html`<a href="/console/quarantine">All quarantined records</a>`)}</div>`}
    ${pager(records, visit.address)}`,
  };
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

const selection = (visit: Visit, { filter, records }: Pick<Listed, 'filter' | 'records'>): Html =>
  form(visit, { action: '/console/quarantine/requeue' }, [
    ...(['connectionId', 'resource', 'runId'] as const).map((name) =>
      filter[name] === undefined ? null : html`<input type="hidden" name="${name}" value="${filter[name]}">`,
    ),
    html`<div class="toolbar"><label class="check" hidden><input type="checkbox" data-all="ids[]"> Select all ${counted(records.rows.length, 'record')} of this page</label>
      <button>Requeue the selected</button></div>`,
    table({
      caption: 'Quarantined records',
      rows: records.rows,
      empty: null,
      columns: [
        {
          head: 'Select',
          cell: ({ id, externalId }) =>
            html`<input type="checkbox" name="ids[]" value="${id}" aria-label="Select ${externalId}">`,
        },
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
  ]);

/** The field of a stored error; empty: the record as a whole. */
export const pathOf = (error: { readonly path?: unknown } | null): string =>
  typeof error?.path === 'string' ? error.path : '';

export function errorWords(error: { readonly path?: unknown; readonly message?: unknown } | null): Html {
  const path = pathOf(error);
  const message = typeof error?.message === 'string' && error.message !== '' ? error.message : 'no reason is stored';
  return html`${path === '' ? '' : html`<code>${path}</code> `}${message}`;
}
