import { firstRows } from '../../../db/listing.ts';
import { findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { countConnectionHealth, type HealthGroup } from '../../../db/queries/connections/health.ts';
import { findLastFailures } from '../../../db/queries/runs/last-failures.ts';
import { countQuarantine } from '../../../db/queries/runs/records/quarantine.ts';
import { type RunHour, readRunActivity } from '../../../db/queries/runs/run-activity.ts';
import { findRunsPage } from '../../../db/queries/runs/run-list.ts';
import { listEndpoints } from '../../../db/queries/webhooks/endpoints.ts';
import { Health } from '../../core/resources/freshness.ts';
import type { RunStatus } from '../../core/resources/run.ts';
import { healthOf, worst } from '../../core/schedule/freshness.ts';
import { type BarPart, barChart } from '../parts/chart.ts';
import { heading, live } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { count, counted, short } from '../parts/numbers.ts';
import { pageRows } from '../parts/pager.ts';
import { healthBadge, runWords } from '../parts/status.ts';
import { section } from '../parts/table.ts';
import { clock } from '../parts/time.ts';
import { page } from '../route.ts';
import { attention, shownMax, troubledIn } from './attention.ts';
import { timeField } from './filters.ts';
import { runTable } from './run-table.ts';

const hours = 24;

export const overview = page({
  path: '',
  handle: async ({ scope }, { db }) => {
    const [groups, activity, endpoints, quarantine, recent] = await Promise.all([
      countConnectionHealth(db, scope, shownMax),
      readRunActivity(db, scope, hours),
      listEndpoints(db, scope).then((list) => firstRows(list, pageRows)),
      countQuarantine(db, scope, { limit: shownMax }),
      findRunsPage(db, scope, {}, { before: null, limit: 8 }),
    ]);
    const byHealth = Map.groupBy(groups, ({ facts }) => worst(facts.map(healthOf)));
    const troubled = troubledIn(byHealth);
    const failing = troubled.flatMap(({ id, health }) => (health === 'failing' ? id : []));
    const ids = [
      ...troubled.map(({ id }) => id),
      ...quarantine.map(({ connectionId }) => connectionId),
      ...recent.rows.map(({ connectionId }) => connectionId),
    ];
    const [names, failures] = await Promise.all([
      findConnectionNames(db, scope, ids),
      failing.length === 0 ? [] : findLastFailures(db, scope, failing),
    ]);
    const nameOf = (id: string) => names.get(id) ?? 'a deleted connection';
    const needs = attention({ byHealth, troubled, failures, endpoints, quarantine, names });
    const hasConnections = groups.length > 0 || recent.rows.length > 0;
    return {
      title: 'Overview',
      section: 'overview',
      refreshSeconds: 15,
      body: html`${heading('Overview')}
        ${hasConnections ? live('overview', [tiles(byHealth), needs, charts(activity)]) : firstSteps}
        ${
          hasConnections
            ? section(
                'Latest runs',
                live('latest', runTable(recent.rows, { nameOf })),
                html`<a class="button" href="/console/runs">All runs</a>`,
              )
            : ''
        }`,
    };
  },
});

function tiles(byHealth: ReadonlyMap<Health, readonly HealthGroup[]>): Html {
  const amounts = Health.options.map(
    (health) => [health, (byHealth.get(health) ?? []).reduce((sum, group) => sum + group.connections, 0)] as const,
  );
  return html`<ul class="tiles" aria-label="Connections by health">${amounts.map(
    ([health, amount]) =>
      html`<li><a href="/console/connections?health=${health}"><span class="amount">${count(amount)}</span>${healthBadge(health)}</a></li>`,
  )}</ul>`;
}

/** In stacking order. */
const looks: Readonly<Record<RunStatus, string>> = {
  succeeded: 'good',
  partial: 'warn',
  failed: 'bad',
  canceled: 'idle',
  running: 'busy',
  queued: 'idle',
};

function charts(activity: readonly RunHour[]): Content {
  const firstHour = Math.floor(Date.now() / 3_600_000) - hours + 1;
  const starts = Array.from({ length: hours }, (_, index) => new Date((firstHour + index) * 3_600_000).toISOString());
  const byHour = Map.groupBy(activity, ({ hour }) => Date.parse(hour));
  const bars = (partsOf: (of: readonly RunHour[]) => readonly BarPart[]) =>
    starts.map((from) => ({
      tick: clock(from),
      parts: partsOf(byHour.get(Date.parse(from)) ?? []),
      link: runsOfHour(from),
    }));
  const runs = activity.reduce((sum, hour) => sum + hour.runs, 0);
  const failed = activity.reduce((sum, hour) => sum + (hour.status === 'failed' ? hour.runs : 0), 0);
  const records = activity.reduce((sum, hour) => sum + hour.recordsOut, 0);
  return html`<div class="charts">
    ${barChart({
      heading: `${counted(runs, 'run')} in ${hours} hours`,
      summary: `${counted(runs, 'run')} in the last ${hours} hours, ${count(failed)} of them failed.`,
      empty: 'No run was requested in this time.',
      format: count,
      bars: bars((of) =>
        Object.entries(looks).map(([status, look]) => ({
          look,
          words: runWords(status as RunStatus),
          value: of.reduce((sum, hour) => sum + (hour.status === status ? hour.runs : 0), 0),
        })),
      ),
    })}
    ${barChart({
      heading: `${counted(records, 'record')} delivered in ${hours} hours`,
      summary: `${counted(records, 'record')} delivered by these runs, by the hour in which they were requested.`,
      empty: 'These runs delivered no record.',
      format: short,
      bars: bars((of) => [
        { look: 'accent', words: 'Delivered', value: of.reduce((sum, hour) => sum + hour.recordsOut, 0) },
      ]),
    })}
  </div>`;
}

/** The list of the runs requested within an hour. */
function runsOfHour(from: string) {
  const to = new Date(Date.parse(from) + 3_600_000).toISOString();
  const query = new URLSearchParams({ from: timeField(from), to: timeField(to) }).toString();
  return { href: `/console/runs?${query}`, name: `Runs from ${from.slice(11, 16)} UTC` };
}

const firstSteps = html`<div class="empty">
  <p class="strong">There is no connection yet.</p>
  <ol>
    <li>Take a ready connector of the <a href="/console/catalogue">catalogue</a>, or describe an API in a <a href="/console/new-spec">spec</a>; then publish it.</li>
    <li><a href="/console/new-connection">Create a connection</a> for a customer, here or by <code>POST /api/v1/connections</code>.</li>
    <li>Test and activate the connection, and start its first sync.</li>
  </ol>
</div>`;
