import { firstRows } from '../../../db/listing.ts';
import type { PinnedConnection } from '../../../db/queries/connections/connections.ts';
import { findWorkspace } from '../../../db/queries/orgs/workspaces.ts';
import { findLaneMarks, type LaneMark } from '../../../db/queries/runs/lanes/lane-marks.ts';
import { findLastFailures, type LastFailure } from '../../../db/queries/runs/last-failures.ts';
import { countQuarantine, type QuarantineCount } from '../../../db/queries/runs/records/quarantine.ts';
import { listSchedules } from '../../../db/queries/schedules.ts';
import type { ConnectedAccount, ConnectionRow } from '../../core/resources/connection.ts';
import type { ResourceFreshness } from '../../core/resources/freshness.ts';
import type { WorkspaceRow } from '../../core/resources/workspace.ts';
import { button } from '../parts/form.ts';
import { live } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { count, counted, duration } from '../parts/numbers.ts';
import { badge, healthBadge, workspaceWords } from '../parts/status.ts';
import { facts, line, section, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page, type Visit } from '../route.ts';
import { failureWords } from './attention.ts';
import { backfillForm, recordForm, scheduleForm } from './connection-forms.ts';
import { ConnectionParams, connectionView, openConnection, specLink } from './connection-frame.ts';
import { addressOf } from './quarantine.ts';
import { scheduleTable } from './schedules.ts';

/** Schedules are few: an org has a limit for them. */
const schedulesMax = 100;
const lanesMax = 20;

/** The first page of a connection: how it is, and what is to be done. */
export const connectionPage = page({
  path: '/connections/:id',
  params: ConnectionParams,
  handle: async (visit, deps) => {
    const { db } = deps;
    const { scope, params } = visit;
    const opened = await openConnection(deps, scope, params.id);
    const { connection, resourceKeys, freshness } = opened;
    const ofConnection = { connectionId: connection.id };
    const [workspace, marks, schedules, quarantine, failures] = await Promise.all([
      findWorkspace(db, scope, connection.workspaceId),
      findLaneMarks(db, scope, { ...ofConnection, resourceKeys }),
      listSchedules(db, scope, connection.id).then((list) => firstRows(list, schedulesMax)),
      countQuarantine(db, scope, { ...ofConnection, limit: lanesMax }),
      findLastFailures(db, scope, [connection.id]),
    ]);
    const [failure] = failures;
    return connectionView(visit, opened, {
      tab: '',
      refreshSeconds: 5,
      body: html`${live('advice', advice(visit, { connection, resourceKeys, failure }))}
        ${identity(connection, { workspace, lastSuccessAt: freshness.lastSuccessAt })}
        ${live('attention', needs({ connection, resources: freshness.resources, failure, quarantine }))}
        ${section('Resources', [
          live('resources', resourceTable(visit, connection, { resources: freshness.resources, marks })),
          connection.status === 'active' ? backfillForm(visit, { connection, resourceKeys }) : null,
          recordForm({ connection, resourceKeys }),
        ])}
        ${section('Schedules', [scheduleTable(visit, { schedules, status: connection.status }), scheduleForm(visit, { connection, resourceKeys })])}`,
    });
  },
});

interface Known {
  readonly workspace: WorkspaceRow | undefined;
  readonly lastSuccessAt: string | null;
}

const identity = (
  { externalCustomerId, accounts, ...connection }: PinnedConnection,
  { workspace, lastSuccessAt }: Known,
): Html =>
  facts([
    ['Spec', specLink(connection)],
    ['Workspace', workspace ? workspaceWords(workspace) : '–'],
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

interface Advised {
  readonly connection: ConnectionRow;
  readonly resourceKeys: readonly string[];
  readonly failure: LastFailure | undefined;
}

const advice = (visit: Visit, { connection, resourceKeys, failure }: Advised): Html | null => {
  const { id, status, error } = connection;
  const resource = resourceKeys.find((key) => key === error?.resourceKey);
  const act = button(visit, {
    action: `/console/connections/${id}/test`,
    label: 'Test and activate',
    look: 'primary',
    fields: { activate: 'on', ...(resource !== undefined && { resource }) },
  });
  if (status === 'error') {
    const run = failure
      ? html`<a href="/console/runs/${failure.runId}">its last failed run</a>`
      : 'its last failed run';
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

interface Needs {
  readonly connection: ConnectionRow;
  readonly resources: readonly ResourceFreshness[];
  readonly failure: LastFailure | undefined;
  readonly quarantine: readonly QuarantineCount[];
}

/** Empty if nothing needs attention; why it is in error stands above. */
function needs({ connection, resources, failure, quarantine }: Needs): Content {
  const address = `/console/connections/${connection.id}`;
  const failing = resources.filter(({ health }) => health === 'failing' && connection.status !== 'error');
  const overdue = resources.filter(({ overdue: isOverdue }) => isOverdue);
  const lines = [
    ...failing.map(({ resourceKey, health }) =>
      line(healthBadge(health), {
        href: `${address}/runs?${new URLSearchParams({ resource: resourceKey }).toString()}`,
        name: resourceKey,
        reason: failureWords(failure?.resourceKey === resourceKey ? failure : undefined),
      }),
    ),
    ...overdue.map(({ resourceKey }) =>
      line(badge('warn', 'Overdue'), {
        href: `${address}/runs?${new URLSearchParams({ resource: resourceKey }).toString()}`,
        name: resourceKey,
        reason: 'Its schedules expect a success by now.',
      }),
    ),
    ...quarantine.map(quarantineLine),
  ];
  return lines.length === 0 ? null : section('Needs attention', html`<ul class="lines">${lines}</ul>`);
}

const quarantineLine = ({ connectionId, resourceKey, records }: QuarantineCount): Html =>
  line(badge('warn', 'Quarantine'), {
    href: addressOf(connectionId, { resource: resourceKey }),
    name: resourceKey,
    reason: `${counted(records, 'record was', 'records were')} not delivered.`,
  });
