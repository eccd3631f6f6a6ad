import * as v from 'valibot';
import { findDeliveriesPage } from '../../../../db/queries/webhooks/deliveries.ts';
import { findEndpoint, readEndpointStats } from '../../../../db/queries/webhooks/endpoints.ts';
import { boundedList } from '../../../api/bounded-list.ts';
import { idParams } from '../../../api/inputs.ts';
import { deleteEndpoint, updateEndpoint } from '../../../control/webhooks/endpoints.ts';
import { recoverEndpoint } from '../../../control/webhooks/recovery.ts';
import { testEndpoint } from '../../../control/webhooks/test-endpoint.ts';
import { found } from '../../../core/errors.ts';
import {
  RecoverySubject,
  type WebhookEndpointRow,
  type WebhookEndpointStats,
} from '../../../core/resources/webhook-endpoint.ts';
import { details } from '../../parts/code.ts';
import { button, checkbox, form, select } from '../../parts/form.ts';
import { heading, live } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { count, duration, percent } from '../../parts/numbers.ts';
import { endpointBadge } from '../../parts/status.ts';
import { facts, section } from '../../parts/table.ts';
import { ago, time } from '../../parts/time.ts';
import { action, page, type Visit } from '../../route.ts';
import { deliveryTable } from './delivery-table.ts';

const noun = 'Webhook endpoint';
const Params = idParams('whe', noun);
const statsHours = 24;

export const endpointPage = page({
  path: '/endpoints/:id',
  params: Params,
  handle: async (visit, { db }) => {
    const { scope, params } = visit;
    const endpoint = found(await findEndpoint(db, scope, params.id), noun);
    const { id } = endpoint;
    const [stats, deliveries] = await Promise.all([
      readEndpointStats(db, scope, { id, hours: statsHours }),
      findDeliveriesPage(db, scope, { endpointId: id }, { before: null, limit: 15 }),
    ]);
    return {
      title: endpoint.url,
      section: 'endpoints',
      trail: [['Endpoints', '/console/endpoints']],
      refreshSeconds: 5,
      body: html`${heading(endpoint.url, {
        state: live('state', endpointBadge(endpoint.state)),
        about: endpoint.description,
        actions: buttons(visit, endpoint),
      })}
        ${advice(endpoint)}
        ${live('stats', statsOf(stats))}
        ${facts(settings(endpoint))}
        ${section('Send past events again', recoverForm(visit, id))}
        ${section(
          'Latest attempts',
          live('deliveries', deliveryTable(deliveries.rows)),
          html`<a class="button" href="/console/deliveries?endpointId=${id}">All attempts</a>`,
        )}`,
    };
  },
});

function buttons(visit: Visit, { id, enabled }: WebhookEndpointRow) {
  const to = (rest: string) => `/console/endpoints/${id}/${rest}`;
  return [
    button(visit, { action: to('test'), label: 'Send a test' }),
    enabled
      ? button(visit, {
          action: to('toggle'),
          label: 'Disable',
          fields: { enabled: 'false' },
          confirm: 'Disable this endpoint? Its events are kept as skipped.',
        })
      : button(visit, { action: to('toggle'), label: 'Enable', look: 'primary', fields: { enabled: 'true' } }),
    button(visit, {
      action: to('delete'),
      label: 'Delete',
      look: 'danger',
      confirm: 'Delete this endpoint? Its pending events are canceled.',
    }),
  ];
}

const reasons = {
  manual: 'It was disabled by hand.',
  gone: 'Its receiver said that it no longer exists (410).',
  failing: 'Its receiver failed for too long.',
} as const;

const advice = ({ state, disabledReason }: WebhookEndpointRow): Html | null => {
  if (state === 'probing')
    return html`<p class="notice bad">Its receiver fails. Only the oldest event is tried, until it succeeds; then all others follow.</p>`;
  if (disabledReason === null) return null;
  return html`<p class="notice">${reasons[disabledReason]} Enable it when the receiver works, then send the skipped events again.</p>`;
};

const statsOf = ({
  attempts,
  delivered,
  p50Ms,
  p95Ms,
  pending,
  oldestPendingSeconds,
}: Omit<WebhookEndpointStats, 'window' | 'state'>): Html => html`
  <ul class="tiles" aria-label="The last ${statsHours} hours">
    <li><span class="amount">${count(attempts)}</span><span>attempts in ${statsHours} h</span></li>
    <li><span class="amount">${attempts === 0 ? '–' : percent(delivered, attempts)}</span><span>delivered</span></li>
    <li><span class="amount">${p50Ms === null ? '–' : duration(p50Ms)}</span><span>half are faster</span></li>
    <li><span class="amount">${p95Ms === null ? '–' : duration(p95Ms)}</span><span>19 of 20 are faster</span></li>
    <li><span class="amount">${count(pending)}</span><span>pending${
      oldestPendingSeconds === null ? '' : `, the oldest for ${duration(oldestPendingSeconds * 1000)}`
    }</span></li>
  </ul>`;

const settings = (endpoint: WebhookEndpointRow) =>
  [
    ['Events', endpoint.eventTypes === null ? 'the usual ones' : endpoint.eventTypes.join(', ')],
    ['Of connections', endpoint.connectionIds === null ? 'all' : count(endpoint.connectionIds.length)],
    ['Order', endpoint.ordering === 'fifo' ? 'one after the other' : 'any'],
    [
      'At once',
      `${endpoint.maxInFlight} requests${endpoint.rateLimitPerSecond === null ? '' : `, ${endpoint.rateLimitPerSecond} per second`}`,
    ],
    ['Time limit', duration(endpoint.timeoutMs)],
    ['Secret', html`<code>…${endpoint.secretHint}</code>`],
    ['Last success', ago(endpoint.lastSuccessAt)],
    ['Created', time(endpoint.createdAt)],
  ] as const;

const spans = {
  '1': 'The last hour',
  '24': 'The last 24 hours',
  '168': 'The last 7 days',
  '720': 'The last 30 days',
} as const;
const subjects: Readonly<Record<RecoverySubject, string>> = {
  failed: 'Events whose every attempt failed',
  skipped: 'Events that were skipped while it was disabled',
  missing: 'Events that it was not subscribed to then',
};

const recoverForm = (visit: Visit, id: string): Html =>
  details(
    'recover',
    'Choose what to send',
    form(visit, { action: `/console/endpoints/${id}/recover`, class: 'stack' }, [
      select({ name: 'hours', label: 'From', value: '24', options: Object.entries(spans) }),
      html`<fieldset><legend>Which events</legend>${RecoverySubject.options.map((subject) =>
        checkbox('include[]', subjects[subject], { value: subject, checked: subject !== 'missing' }),
      )}</fieldset>`,
      html`<p class="hint">Events that it has accepted, or that are pending, are not sent again.</p>`,
      html`<button>Send them again</button>`,
    ]),
  );

/** Throws not_found, rate_limited. */
export const testOne = action({
  path: '/endpoints/:id/test',
  params: Params,
  handle: async ({ scope, params }, deps) => {
    const delivery = await testEndpoint(deps, scope, { id: params.id, eventType: 'webhook.test' });
    return { to: `/console/deliveries/${delivery.id}`, notice: 'test-sent' };
  },
});

/** Enabling an endpoint resets its failures. Throws not_found. */
export const switchEndpoint = action({
  path: '/endpoints/:id/toggle',
  params: Params,
  form: v.object({ enabled: v.picklist(['true', 'false']) }),
  handle: async ({ scope, params, form: { enabled } }, deps) => {
    await updateEndpoint(deps, scope, { id: params.id, enabled: enabled === 'true' });
    const notice = enabled === 'true' ? 'endpoint-enabled' : 'endpoint-disabled';
    return { to: `/console/endpoints/${params.id}`, notice };
  },
});

/** Cancels waiting messages; the log of deliveries stays. Throws not_found. */
export const removeEndpoint = action({
  path: '/endpoints/:id/delete',
  params: Params,
  handle: async ({ scope, params }, deps) => {
    await deleteEndpoint(deps, scope, params.id);
    return { to: '/console/endpoints', notice: 'endpoint-deleted' };
  },
});

/** At most 720 hours (30 days). Throws not_found, validation, rate_limited. */
export const recover = action({
  path: '/endpoints/:id/recover',
  params: Params,
  form: v.object({
    hours: v.picklist(['1', '24', '168', '720']),
    include: v.pipe(
      v.optional(boundedList(RecoverySubject, RecoverySubject.options.length), []),
      v.minLength(1, 'select at least one kind of events'),
    ),
  }),
  handle: async ({ scope, params, form: { hours, include } }, deps) => {
    const until = new Date();
    // One second less than 30 days: the range is at most that long.
    const since = new Date(until.getTime() - Number(hours) * 3_600_000 + 1000);
    const recovery = await recoverEndpoint(deps, scope, {
      endpointId: params.id,
      since: since.toISOString(),
      until: until.toISOString(),
      include,
    });
    return { to: `/console/recoveries/${recovery.id}`, notice: 'recovery-started' };
  },
});
