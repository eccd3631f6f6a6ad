import type { HealthGroup } from '../../../db/queries/connections/health.ts';
import type { LastFailure } from '../../../db/queries/runs/last-failures.ts';
import type { QuarantineCount } from '../../../db/queries/runs/records/quarantine.ts';
import type { Health } from '../../core/resources/freshness.ts';
import type { WebhookEndpointRow } from '../../core/resources/webhook-endpoint.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { counted } from '../parts/numbers.ts';
import { badge, healthBadge } from '../parts/status.ts';
import { line, nothing, section } from '../parts/table.ts';
import { addressOf } from './quarantine.ts';

/** The most lines of one kind; the others are counted. */
export const shownMax = 6;

const troubles = ['failing', 'degraded'] as const;

export interface Troubled {
  readonly id: string;
  readonly health: (typeof troubles)[number];
  readonly facts: HealthGroup['facts'];
}

/** Failing connections, then degraded ones; some of each. */
export const troubledIn = (byHealth: ReadonlyMap<Health, readonly HealthGroup[]>): readonly Troubled[] =>
  troubles.flatMap((health) =>
    (byHealth.get(health) ?? [])
      .flatMap(({ sample, facts }) => sample.map((id) => ({ id, health, facts })))
      .slice(0, shownMax),
  );

interface Attention {
  readonly byHealth: ReadonlyMap<Health, readonly HealthGroup[]>;
  readonly troubled: readonly Troubled[];
  readonly failures: readonly LastFailure[];
  readonly endpoints: readonly WebhookEndpointRow[];
  readonly quarantine: readonly QuarantineCount[];
  readonly names: ReadonlyMap<string, string>;
}

export function attention({ byHealth, troubled, failures, endpoints, quarantine, names }: Attention): Html {
  const failureOf = new Map(failures.map((failure) => [failure.connectionId, failure]));
  const ofDegraded = new Set(troubled.flatMap(({ id, health }) => (health === 'degraded' ? id : [])));
  const lines = [
    ...troubles.flatMap((health) => [
      ...troubled
        .filter((one) => one.health === health)
        .map((one) =>
          line(healthBadge(health), {
            href: `/console/connections/${one.id}`,
            name: names.get(one.id) ?? 'a deleted connection',
            reason: health === 'failing' ? failureWords(failureOf.get(one.id)) : degraded(one, quarantine),
          }),
        ),
      ...others(health, byHealth.get(health) ?? []),
    ]),
    ...endpoints.filter(isInTrouble).slice(0, shownMax).map(endpointLine),
    ...quarantine
      .filter(({ connectionId }) => names.has(connectionId) && !ofDegraded.has(connectionId))
      .map(({ connectionId, resourceKey, records }) =>
        line(badge('warn', 'Quarantine'), {
          href: addressOf(connectionId, { resource: resourceKey }),
          name: `${names.get(connectionId)} · ${resourceKey}`,
          reason: `${counted(records, 'record was', 'records were')} not delivered.`,
        }),
      ),
  ];
  return section(
    'Needs attention',
    lines.length === 0
      ? html`<div class="empty good">${nothing('Nothing needs attention.')}</div>`
      : html`<ul class="lines">${lines}</ul>`,
  );
}

/** What failed last; absent: it is not known. */
export const failureWords = (failure: LastFailure | undefined): Content =>
  failure === undefined
    ? 'The last run failed.'
    : html`<a href="/console/runs/${failure.runId}">The ${failure.goesOn ? 'current' : 'last'} run of ${failure.resourceKey}</a> ${
        failure.goesOn ? 'fails and is tried again' : 'failed'
      }${failure.errorCode === null ? '' : html`: <code>${failure.errorCode}</code>`}`;

/** Names its quarantine, so that it has no line of its own. */
function degraded({ id, facts }: Troubled, quarantine: readonly QuarantineCount[]): Content {
  const counts = quarantine.filter(({ connectionId }) => connectionId === id);
  const reasons = [
    ...(facts.some(({ overdue }) => overdue) ? ['It is overdue: its schedules expect a success by now.'] : []),
    ...(facts.some(({ lastOutcome }) => lastOutcome === 'partial') ? ['Its last run was partial.'] : []),
    ...counts.map(
      ({ resourceKey, records }) =>
        html`<a href="${addressOf(id, { resource: resourceKey })}">${counted(records, 'record')} of ${resourceKey}</a> ${records === 1 ? 'is' : 'are'} in quarantine.`,
    ),
    ...(counts.length === 0 && facts.some(({ hasQuarantined }) => hasQuarantined)
      ? [html`<a href="${addressOf(id)}">Records</a> are in quarantine.`]
      : []),
  ];
  return reasons.map((reason, index) => [index === 0 ? '' : ' ', reason]);
}

function others(health: Troubled['health'], groups: readonly HealthGroup[]): readonly Html[] {
  const more = groups.reduce((sum, { connections }) => sum + connections, 0) - shownMax;
  if (more <= 0) return [];
  const reason = `${counted(more, 'more connection is', 'more connections are')} ${health}.`;
  return [line(healthBadge(health), { href: `/console/connections?health=${health}`, name: 'All of them', reason })];
}

const isInTrouble = ({ state, disabledReason }: WebhookEndpointRow): boolean =>
  state === 'probing' || (state === 'disabled' && disabledReason !== 'manual');

const endpointLine = ({ id, url, state }: WebhookEndpointRow): Html =>
  state === 'disabled'
    ? line(badge('bad', 'Disabled'), {
        href: `/console/endpoints/${id}`,
        name: url,
        reason: 'Its receiver failed for too long: events are kept as skipped.',
      })
    : line(badge('warn', 'Probing'), { href: `/console/endpoints/${id}`, name: url, reason: 'Its receiver fails.' });
