import { firstRows } from '../../../db/listing.ts';
import { listHooks } from '../../../db/queries/hooks/hooks.ts';
import { type EventLine, findRecentEvents } from '../../../db/queries/webhooks/events.ts';
import { live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { nothing, section, table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';
import { page } from '../route.ts';
import { hookForm } from './connection-forms.ts';
import { ConnectionParams, connectionView, openConnection } from './connection-frame.ts';
import { hookTable } from './hook-table.ts';

/** Hooks are few: an org has a limit for them. */
const hooksMax = 100;
const eventsMax = 20;

export const connectionHooks = page({
  path: '/connections/:id/hooks',
  params: ConnectionParams,
  handle: async (visit, deps) => {
    const { scope, params } = visit;
    const opened = await openConnection(deps, scope, params.id);
    const [hooks, events] = await Promise.all([
      listHooks(deps.db, scope, params.id).then((list) => firstRows(list, hooksMax)),
      findRecentEvents(deps.db, scope, { connectionId: params.id, limit: eventsMax }),
    ]);
    return connectionView(visit, opened, {
      tab: '/hooks',
      refreshSeconds: 5,
      body: html`${section('Hooks', [hookTable(hooks), hookForm(visit, opened)])}
        ${section('Events', live('events', eventTable(events)), html`<a class="button" href="/console/deliveries">Deliveries</a>`)}`,
    });
  },
});

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
