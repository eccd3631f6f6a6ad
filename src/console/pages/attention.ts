import type { HealthGroup } from '../../../db/queries/connections/health.ts';
import type { LastFailure } from '../../../db/queries/runs/last-failures.ts';
import type { QuarantineCount } from '../../../db/queries/runs/records/quarantine.ts';
import type { Health } from '../../core/resources/freshness.ts';
import type { WebhookEndpointRow } from '../../core/resources/webhook-endpoint.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { counted } from '../parts/numbers.ts';
import { badge, healthBadge } from '../parts/status.ts';
import { nothing, section } from '../parts/table.ts';
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
  const lines = [
    ...troubles.flatMap((health) => [
      ...troubled
        .filter((one) => one.health === health)
        .map((one) =>
          line(healthBadge(health), {
            href: `/console/connections/${one.id}`,
            name: names.get(one.id) ?? 'a deleted connection',
            reason: health === 'failing' ? failing(failureOf.get(one.id)) : degraded(one),
          }),
        ),
      ...others(health, byHealth.get(health) ?? []),
    ]),
    ...endpoints.filter(isInTrouble).slice(0, shownMax).map(endpointLine),
    ...quarantine
      .filter(({ connectionId }) => names.has(connectionId))
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

interface Line {
  readonly href: string;
  readonly name: string;
  readonly reason: Content;
}

const line = (state: Html, { href, name, reason }: Line): Html =>
  html`<li>${state}<a href="${href}">${name}</a><span class="muted">${reason}</span></li>`;

const failing = (failure: LastFailure | undefined): Content =>
  failure === undefined
    ? 'The last run failed.'
    : html`<a href="/console/runs/${failure.runId}">The ${failure.goesOn ? 'current' : 'last'} run of ${failure.resourceKey}</a> ${
        failure.goesOn ? 'fails and is tried again' : 'failed'
      }${failure.errorCode === null ? '' : html`: <code>${failure.errorCode}</code>`}`;

function degraded({ facts }: Troubled): string {
  const reasons = [
    ...(facts.some(({ overdue }) => overdue) ? ['it is overdue: its schedules expect a success by now'] : []),
    ...(facts.some(({ lastOutcome }) => lastOutcome === 'partial') ? ['its last run was partial'] : []),
    ...(facts.some(({ hasQuarantined }) => hasQuarantined) ? ['records are in quarantine'] : []),
  ].join('; ');
  return `${reasons.slice(0, 1).toUpperCase()}${reasons.slice(1)}.`;
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
