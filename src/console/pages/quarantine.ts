import * as v from 'valibot';
import type { Page } from '../../../db/page.ts';
import { findConnection, findConnectionNames } from '../../../db/queries/connections/connections.ts';
import {
  countQuarantine,
  findQuarantinePage,
  type QuarantineCount,
  type QuarantineLine,
} from '../../../db/queries/runs/records/quarantine.ts';
import { found } from '../../core/errors.ts';
import { isId } from '../../core/ids.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import { button, form } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { count, counted } from '../parts/numbers.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { nothing, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page, type View, type Visit } from '../route.ts';
import { filterText } from './filters.ts';

const resourcesMax = 100;

export const quarantinePage = page({
  path: '/quarantine',
  query: v.object({ ...before('quar'), connectionId: filterText, resource: filterText }),
  handle: async (visit, { db }) => {
    const { scope, query } = visit;
    const { connectionId, resource } = query;
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
    const records = await findQuarantinePage(db, scope, { connectionId, resourceKey: resource }, pageFrom(query));
    return listOf(visit, { connection, resource, records });
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
        { head: 'Resource', cell: ({ resourceKey }) => html`<span class="strong">${resourceKey}</span>` },
        {
          head: 'Records',
          kind: 'number',
          cell: ({ connectionId, resourceKey, records }) =>
            html`<a href="${addressOf(connectionId, resourceKey)}">${count(records)}</a>`,
        },
      ],
    })}</div>`,
});

export const addressOf = (connectionId: string, resource: string): string =>
  `/console/quarantine?${new URLSearchParams({ connectionId, resource }).toString()}`;

interface Listed {
  readonly connection: ConnectionRow;
  readonly resource: string | undefined;
  readonly records: Page<QuarantineLine>;
}

function listOf(visit: Visit, { connection, resource, records }: Listed): View {
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
      about: subject,
      actions: hasRows
        ? button(visit, {
            action: '/console/quarantine/requeue-all',
            label: 'Requeue all',
            confirm: `Requeue every quarantined record of ${subject}? The next run begins with them.`,
            fields: { connectionId: connection.id, ...(resource === undefined ? {} : { resource }) },
          })
        : null,
    })}
    ${hasRows ? selection(visit, { connection, resource, records }) : html`<div class="empty">${nothing('No record is quarantined here.', html`<a href="/console/quarantine">All quarantined records</a>`)}</div>`}
    ${pager(records, visit.address)}`,
  };
}

const selection = (visit: Visit, { connection, resource, records }: Listed): Html =>
  form(visit, { action: '/console/quarantine/requeue' }, [
    html`<input type="hidden" name="connectionId" value="${connection.id}">`,
    resource === undefined ? null : html`<input type="hidden" name="resource" value="${resource}">`,
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
          cell: ({ id, externalId }) => html`<a class="strong" href="/console/quarantine/${id}">${externalId}</a>`,
        },
        { head: 'Resource', cell: ({ resourceKey }) => resourceKey },
        { head: 'What is wrong', kind: 'wide', cell: ({ firstError }) => errorWords(firstError) },
        {
          head: 'Begins with',
          kind: 'wide',
          cell: ({ beginning }) => html`<code class="muted clip">${beginning}</code>`,
        },
        { head: 'Since', cell: ({ createdAt }) => ago(createdAt) },
      ],
    }),
  ]);

export function errorWords(error: { readonly path?: unknown; readonly message?: unknown } | null): Html {
  const path = typeof error?.path === 'string' ? error.path : '';
  const message = typeof error?.message === 'string' ? error.message : 'no reason is stored';
  return html`${path === '' ? '' : html`<code>${path}</code> `}${message}`;
}
