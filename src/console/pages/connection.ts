import { firstRows } from '../../../db/listing.ts';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { listHooks } from '../../../db/queries/hooks/hooks.ts';
import { findLaneMarks, type LaneMark } from '../../../db/queries/runs/lanes/lane-marks.ts';
import { countQuarantine, type QuarantineCount } from '../../../db/queries/runs/records/quarantine.ts';
import type { RunLine } from '../../../db/queries/runs/run-columns.ts';
import { findRunsPage } from '../../../db/queries/runs/run-list.ts';
import { listSchedules } from '../../../db/queries/schedules.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import { type EventLine, findRecentEvents } from '../../../db/queries/webhooks/events.ts';
import { idParams } from '../../api/inputs.ts';
import { readFreshness } from '../../control/connections/freshness.ts';
import { readRunWaits } from '../../control/runs/waits.ts';
import { found } from '../../core/errors.ts';
import type { ConnectedAccount, ConnectionRow } from '../../core/resources/connection.ts';
import type { ResourceFreshness } from '../../core/resources/freshness.ts';
import { details, idText, json } from '../parts/code.ts';
import { button } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { count, counted, duration } from '../parts/numbers.ts';
import { connectionBadge, healthBadge } from '../parts/status.ts';
import { facts, nothing, section, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page, type Visit } from '../route.ts';
import { backfillForm, hookForm, scheduleForm, testForm } from './connection-forms.ts';
import { hookTable } from './hook-table.ts';
import { addressOf } from './quarantine.ts';
import { runTable } from './run-table.ts';
import { waitWords } from './run-wait.ts';
import { scheduleTable } from './schedules.ts';
import { specKeyIn } from './specs/spec-names.ts';

export const ConnectionParams = idParams('con', 'Connection');
/** Schedules and hooks are few: an org has limits for them. */
const listedMax = 100;

export const connectionPage = page({
  path: '/connections/:id',
  params: ConnectionParams,
  handle: async (visit, deps) => {
    const { db } = deps;
    const { scope, params } = visit;
    const connection = found(await findConnection(db, scope, params.id), 'Connection');
    const ofConnection = { connectionId: connection.id };
    const { freshness } = await readFreshness({ db }, scope, connection.id);
    const resourceKeys = freshness.resources.map(({ resourceKey }) => resourceKey);
    const [pinned, marks, runs, schedules, quarantine, events, hooks] = await Promise.all([
      findPinnedSpec(db, scope, connection.id),
      findLaneMarks(db, scope, { ...ofConnection, resourceKeys }),
      findRunsPage(db, scope, ofConnection, { before: null, limit: 10 }),
      listSchedules(db, scope, connection.id).then((list) => firstRows(list, listedMax)),
      countQuarantine(db, scope, { ...ofConnection, limit: 20 }),
      findRecentEvents(db, scope, { ...ofConnection, limit: 12 }),
      listHooks(db, scope, connection.id).then((list) => firstRows(list, listedMax)),
    ]);
    const open = runs.rows.filter(({ finishedAt }) => finishedAt === null);
    const waits = await readRunWaits(
      deps,
      scope,
      open.map(({ id }) => id),
    );
    return {
      title: connection.displayName,
      section: 'connections',
      trail: [['Connections', '/console/connections']],
      refreshSeconds: 5,
      body: html`${heading(connection.displayName, {
        about: idText(connection.id),
        state: live('state', [connectionBadge(connection.status), healthBadge(freshness.health)]),
        actions: [statusButton(visit, connection), testForm(visit, { connection, resourceKeys })],
      })}
        ${identity(connection, { specKey: specKeyIn(pinned?.specJson), lastSuccessAt: freshness.lastSuccessAt })}
        ${live('advice', advice(visit, { connection, resourceKeys, runs: runs.rows }))}
        ${section('Resources', [
          live('resources', resourceTable(visit, connection, { resources: freshness.resources, marks })),
          connection.status === 'active' ? backfillForm(visit, { connection, resourceKeys }) : null,
        ])}
        ${section('Schedules', [scheduleTable(visit, { schedules, status: connection.status }), scheduleForm(visit, { connection, resourceKeys })])}
        ${section(
          'Runs',
          live(
            'runs',
            runTable(runs.rows, {
              empty: 'No runs yet. Activate the connection, then sync a resource.',
              waitOf: ({ id }) => waitWords(waits.get(id)),
            }),
          ),
          html`<a class="button" href="/console/runs?connectionId=${connection.id}">All runs</a>`,
        )}
        ${section('Quarantine', live('quarantine', quarantineList(quarantine)))}
        ${section('Hooks', [hookTable(hooks), hookForm(visit, { connection, resourceKeys })])}
        ${section('Events', live('events', eventTable(events)))}
        ${section('Settings', settings(connection))}`,
    };
  },
});

interface Known {
  readonly specKey: string | null;
  readonly lastSuccessAt: string | null;
}

const identity = (
  { externalCustomerId, accounts, pinnedSpecVersion: version }: ConnectionRow,
  { specKey, lastSuccessAt }: Known,
): Html =>
  facts([
    ['Spec', html`<a href="/console/specs/${specKey}/${version}">${specKey} ${version}</a>`],
    ['Customer', externalCustomerId ?? html`<span class="muted">–</span>`],
    ...accounts.map(accountFact),
    ['Last success', ago(lastSuccessAt)],
  ]);

const accountFact = ({ resource, values }: ConnectedAccount): readonly [string, string] => [
  resource === null ? 'Account' : `Account of ${resource}`,
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', '),
];

/** One that is pending or in error is activated by its advice, after a test. */
const statusButton = (visit: Visit, { id, status }: ConnectionRow): Html | null => {
  if (status === 'error' || status === 'pending') return null;
  return status === 'active'
    ? button(visit, {
        action: `/console/connections/${id}/pause`,
        label: 'Pause',
        confirm: 'Pause this connection? Its queued and running runs are canceled.',
      })
    : button(visit, { action: `/console/connections/${id}/activate`, label: 'Activate', look: 'primary' });
};

interface Advised {
  readonly connection: ConnectionRow;
  readonly resourceKeys: readonly string[];
  readonly runs: readonly RunLine[];
}

const advice = (visit: Visit, { connection, resourceKeys, runs }: Advised): Html | null => {
  const { id, status, error } = connection;
  const resource = resourceKeys.find((key) => key === error?.resourceKey);
  const act = button(visit, {
    action: `/console/connections/${id}/test`,
    label: 'Test and activate',
    look: 'primary',
    fields: { activate: 'on', ...(resource !== undefined && { resource }) },
  });
  if (status === 'error') {
    const failed = runs.find((run) => run.status === 'failed');
    const run = failed ? html`<a href="/console/runs/${failed.id}">its last failed run</a>` : 'its last failed run';
    if (error === null)
      return html`<div class="notice bad"><p>The API or the destination refused this connection. Look at ${run}, and correct what it says.</p> ${act}</div>`;
    const next =
      error.nextTestAt === null
        ? 'It is not tested again by itself: correct what it says, or authorize the connection again.'
        : html`The next test is ${ago(error.nextTestAt)}; if it succeeds, the connection is active again.`;
    return html`<div class="notice bad"><p><strong>${error.message}</strong> That ended ${run} of ${error.resourceKey}, ${ago(error.since)}. ${next}</p> ${act}</div>`;
  }
  if (status === 'pending') return html`<div class="notice"><p>This connection was never active.</p> ${act}</div>`;
  return null;
};

const resourceTable = (
  visit: Visit,
  connection: ConnectionRow,
  { resources, marks }: { readonly resources: readonly ResourceFreshness[]; readonly marks: readonly LaneMark[] },
): Html => {
  const markOf = new Map(marks.map((mark) => [mark.resourceKey, mark]));
  return table({
    caption: 'Resources',
    rows: resources,
    empty: 'The spec of this connection has no resources.',
    columns: [
      { head: 'Resource', cell: ({ resourceKey }) => html`<span class="strong">${resourceKey}</span>` },
      { head: 'Health', narrow: 'lead', cell: ({ health }) => healthBadge(health) },
      { head: 'Last success', narrow: 'named', cell: ({ lastSuccessAt }) => ago(lastSuccessAt) },
      {
        head: 'Delivered',
        narrow: 'named',
        kind: 'number',
        cell: ({ lastRecords }) => (lastRecords === null ? '–' : count(lastRecords)),
      },
      {
        head: 'Expected every',
        narrow: 'out',
        cell: ({ expectedIntervalSeconds: seconds }) =>
          seconds === null ? html`<span class="muted">no schedule</span>` : duration(seconds * 1000),
      },
      {
        head: 'Watermark',
        kind: 'wide',
        narrow: 'named',
        cell: ({ resourceKey }) => watermark(markOf.get(resourceKey)),
      },
      {
        head: 'Actions',
        kind: 'acts',
        cell: ({ resourceKey }) =>
          connection.status === 'active'
            ? button(visit, {
                action: `/console/connections/${connection.id}/sync`,
                label: 'Sync',
                fields: { resource: resourceKey },
              })
            : null,
      },
    ],
  });
};

function watermark(mark: LaneMark | undefined): Html {
  if (!mark || mark.watermark === null) return html`<span class="muted">none</span>`;
  const among = mark.partitions > 1 ? ` lowest of ${count(mark.partitions)} partitions` : '';
  return html`<code>${mark.watermark}</code><span class="muted">${among}</span>`;
}

const quarantineList = (counts: readonly QuarantineCount[]): Html =>
  counts.length === 0
    ? html`<div class="empty">No record of this connection is quarantined.</div>`
    : html`<ul class="lines">${counts.map(
        ({ connectionId, resourceKey, records }) =>
          html`<li><a href="${addressOf(connectionId, { resource: resourceKey })}">${resourceKey}</a>
          <span>${counted(records, 'record')}</span></li>`,
      )}</ul>`;

const eventTable = (events: readonly EventLine[]): Html =>
  table({
    caption: 'Events',
    rows: events,
    empty: nothing(
      'No recent events.',
      'Events are kept for the days of the retention; those of a busy org are on the page of their endpoint.',
    ),
    columns: [
      { head: 'When', cell: ({ occurredAt }) => ago(occurredAt) },
      { head: 'Event', kind: 'wide', narrow: 'lead', cell: ({ type }) => html`<code>${type}</code>` },
      { head: 'Run', cell: ({ runId }) => (runId === null ? '–' : html`<a href="/console/runs/${runId}">Run</a>`) },
    ],
  });

const settings = ({ paramsJson, specOverridesJson }: ConnectionRow): Html => html`
  ${details('params', 'Params', json(paramsJson, 'Params'))}
  ${specOverridesJson === null ? '' : details('overrides', 'Overrides of the spec', json(specOverridesJson, 'Overrides of the spec'))}
  <p class="hint">Secrets are never shown. Change both by <code>PATCH /api/v1/connections/:id</code>.</p>`;
