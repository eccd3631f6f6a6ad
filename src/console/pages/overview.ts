import { findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { countConnectionHealth, type HealthGroup } from '../../../db/queries/connections/health.ts';
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
import { badge, healthBadge, runWords } from '../parts/status.ts';
import { nothing, section } from '../parts/table.ts';
import { clock } from '../parts/time.ts';
import { page } from '../route.ts';
import { runTable } from './run-table.ts';

const hours = 24;
const shownMax = 6;

/** How everything is, and what needs somebody. */
export const overview = page({
  path: '',
  handle: async ({ scope }, { db }) => {
    const [groups, activity, endpoints, quarantine, recent] = await Promise.all([
      countConnectionHealth(db, scope, shownMax),
      readRunActivity(db, scope, hours),
      listEndpoints(db, scope),
      countQuarantine(db, scope, { limit: shownMax }),
      findRunsPage(db, scope, {}, { before: null, limit: 8 }),
    ]);
    const byHealth = Map.groupBy(groups, ({ facts }) => worst(facts.map(healthOf)));
    const troubled = (['failing', 'degraded'] as const).flatMap((health) =>
      (byHealth.get(health) ?? [])
        .flatMap(({ sample }) => sample)
        .slice(0, shownMax)
        .map((id) => ({ id, health })),
    );
    const ids = [
      ...troubled.map(({ id }) => id),
      ...quarantine.map(({ connectionId }) => connectionId),
      ...recent.rows.map(({ connectionId }) => connectionId),
    ];
    const names = await findConnectionNames(db, scope, ids);
    const nameOf = (id: string) => names.get(id) ?? 'a deleted connection';
    const lines = [
      ...troubled.map(({ id, health }) =>
        line(healthBadge(health), `/console/connections/${id}`, nameOf(id), healthText[health]),
      ),
      ...endpoints
        .filter(
          ({ state, disabledReason }) => state === 'probing' || (state === 'disabled' && disabledReason !== 'manual'),
        )
        .slice(0, shownMax)
        .map(({ id, url, state }) =>
          line(
            badge(state === 'disabled' ? 'bad' : 'warn', state === 'disabled' ? 'Disabled' : 'Probing'),
            `/console/endpoints/${id}`,
            url,
            state === 'disabled'
              ? 'Its receiver failed for too long: events are kept as skipped.'
              : 'Its receiver fails.',
          ),
        ),
      ...quarantine
        .filter(({ connectionId }) => names.has(connectionId))
        .map(({ connectionId, resourceKey, records }) =>
          line(
            badge('warn', 'Quarantine'),
            `/console/quarantine?${new URLSearchParams({ connectionId, resource: resourceKey }).toString()}`,
            `${nameOf(connectionId)} · ${resourceKey}`,
            `${counted(records, 'record')} were not delivered.`,
          ),
        ),
    ];
    const hasConnections = groups.length > 0 || recent.rows.length > 0;
    return {
      title: 'Overview',
      section: 'overview',
      refreshSeconds: 15,
      body: html`${heading('Overview')}
        ${hasConnections ? live('overview', [tiles(byHealth), attention(lines), charts(activity)]) : firstSteps}
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

const healthText = {
  failing: 'The last run failed.',
  degraded: 'It is overdue, or its last run was partial.',
} as const;

const line = (state: Html, href: string, name: string, words: string): Html =>
  html`<li>${state}<a href="${href}">${name}</a><span class="muted">${words}</span></li>`;

const attention = (lines: readonly Html[]): Html =>
  section(
    'Needs attention',
    lines.length === 0
      ? html`<div class="empty good">${nothing('Nothing needs attention.')}</div>`
      : html`<ul class="lines">${lines}</ul>`,
  );

function tiles(byHealth: ReadonlyMap<Health, readonly HealthGroup[]>): Html {
  const amounts = Health.pipe[0].options.map(
    (health) => [health, (byHealth.get(health) ?? []).reduce((sum, group) => sum + group.connections, 0)] as const,
  );
  return html`<ul class="tiles" aria-label="Connections by health">${amounts.map(
    ([health, amount]) => html`<li><span class="amount">${count(amount)}</span>${healthBadge(health)}</li>`,
  )}</ul>`;
}

const looks: Readonly<Record<RunStatus, string>> = {
  succeeded: 'good',
  partial: 'warn',
  failed: 'bad',
  running: 'busy',
  queued: 'idle',
  canceled: 'idle',
};
const stacked = ['succeeded', 'partial', 'failed', 'canceled', 'running', 'queued'] as const;

function charts(activity: readonly RunHour[]): Content {
  const firstHour = Math.floor(Date.now() / 3_600_000) - hours + 1;
  const starts = Array.from({ length: hours }, (_, index) => new Date((firstHour + index) * 3_600_000).toISOString());
  const byHour = Map.groupBy(activity, ({ hour }) => Date.parse(hour));
  const bars = (partsOf: (of: readonly RunHour[]) => readonly BarPart[]) =>
    starts.map((from) => ({ tick: clock(from), parts: partsOf(byHour.get(Date.parse(from)) ?? []) }));
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
        stacked.map((status) => ({
          look: looks[status],
          words: runWords(status),
          value: of.reduce((sum, hour) => sum + (hour.status === status ? hour.runs : 0), 0),
        })),
      ),
    })}
    ${barChart({
      heading: `${counted(records, 'record')} delivered`,
      summary: `${counted(records, 'record')} delivered by these runs, by the hour in which they were requested.`,
      empty: 'These runs delivered no record.',
      format: short,
      bars: bars((of) => [
        { look: 'accent', words: 'Delivered', value: of.reduce((sum, hour) => sum + hour.recordsOut, 0) },
      ]),
    })}
  </div>`;
}

const firstSteps = html`<div class="empty">
  <p class="strong">There is no connection yet.</p>
  <ol>
    <li>Describe an API in a <a href="/console/new-spec">spec</a>, and publish it.</li>
    <li>Connect a customer to it by <code>POST /api/v1/connections</code>, since secrets do not pass through this console.</li>
    <li>Activate the connection here, and start its first sync.</li>
  </ol>
</div>`;
