import * as v from 'valibot';
import { firstRows } from '../../../../db/listing.ts';
import {
  type DeliveryFilter,
  type DeliveryOutcome,
  deliveryOutcomes,
  findDeliveriesPage,
  findDelivery,
} from '../../../../db/queries/webhooks/deliveries.ts';
import { findEndpoint, listEndpoints } from '../../../../db/queries/webhooks/endpoints.ts';
import { idParams } from '../../../api/inputs.ts';
import { redeliver } from '../../../control/webhooks/redelivery.ts';
import { found } from '../../../core/errors.ts';
import { isId, timeOfId } from '../../../core/ids.ts';
import { eventTypes } from '../../../core/resources/event-types.ts';
import type { WebhookDeliveryDetail } from '../../../core/resources/webhook-delivery.ts';
import { EventType, type WebhookEndpointRow } from '../../../core/resources/webhook-endpoint.ts';
import { idText, json, maybeJson } from '../../parts/code.ts';
import { button, field, filters, select } from '../../parts/form.ts';
import { heading, live } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { duration } from '../../parts/numbers.ts';
import { before, pageFrom, pageRows, pager } from '../../parts/pager.ts';
import { facts, nothing } from '../../parts/table.ts';
import { time } from '../../parts/time.ts';
import { action, page } from '../../route.ts';
import { choice, filterText, filterTime, timeField, weekBefore, withStart } from '../filters.ts';
import { selection } from '../selection.ts';
import { deliveryProblem } from './delivery-problem.ts';
import { attemptBadge, deliveryTable } from './delivery-table.ts';

const noun = 'Webhook delivery';
const Params = idParams('whd', noun);

export const deliveriesPage = page({
  path: '/deliveries',
  query: v.object({
    ...before('whd'),
    endpointId: filterText,
    outcome: choice(v.picklist(deliveryOutcomes)),
    eventType: choice(EventType),
    from: filterTime,
    to: filterTime,
  }),
  handle: async (visit, { db }) => {
    const { scope, query, address } = visit;
    const { endpointId, outcome, eventType, to: until } = query;
    if (endpointId !== undefined)
      found(isId('whe', endpointId) && (await findEndpoint(db, scope, endpointId)), 'Webhook endpoint');
    // Without a start every attempt of the org would be read for what is rare.
    const isRare = outcome !== undefined || eventType !== undefined;
    const filter = {
      endpointId,
      outcome,
      eventType,
      since: query.from ?? (isRare ? weekBefore(until) : undefined),
      until,
    };
    const [deliveries, endpoints] = await Promise.all([
      findDeliveriesPage(db, scope, filter, pageFrom(query)),
      listEndpoints(db, scope).then((list) => firstRows(list, pageRows)),
    ]);
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    const list = deliveryTable(deliveries.rows, {
      showsUrl: true,
      select: selectedDeliveries.column(({ id, eventType: type }) => `${type} of ${timeOfId(id).toISOString()}`),
      empty: isFiltered
        ? nothing('No attempt passes this filter.', html`<a href="/console/deliveries">Show all attempts</a>`)
        : nothing(
            'No event was sent yet.',
            html`Add an <a href="/console/endpoints">endpoint</a> to be notified of events.`,
          ),
    });
    return {
      title: 'Deliveries',
      section: 'deliveries',
      refreshSeconds: 5,
      body: html`${heading('Deliveries', { about: 'Each attempt to send an event to an endpoint.' })}
        ${deliveryFilters(filter, endpoints)}
        ${live('deliveries', deliveries.rows.length === 0 ? list : selectedDeliveries.form(visit, list))}
        ${pager(deliveries, withStart(address, filter.since))}`,
    };
  },
});

const outcomeWords: Readonly<Record<DeliveryOutcome, string>> = {
  delivered: 'Delivered',
  failed: 'Failed',
  open: 'Queued or sending',
  unknown: 'Unknown',
};

const deliveryFilters = (
  { endpointId, outcome, eventType, since, until }: DeliveryFilter,
  endpoints: readonly WebhookEndpointRow[],
): Html =>
  filters(
    '/console/deliveries',
    [
      select({
        name: 'outcome',
        label: 'Result',
        value: outcome,
        options: [['', 'Any'], ...deliveryOutcomes.map((option) => [option, outcomeWords[option]] as const)],
      }),
      select({
        name: 'eventType',
        label: 'Event',
        value: eventType,
        options: [['', 'Any'], ...eventTypes.map((option) => [option, option] as const)],
      }),
      select({
        name: 'endpointId',
        label: 'Endpoint',
        value: endpointId,
        options: [['', 'Any'], ...endpoints.map(({ id, url }) => [id, url] as const)],
      }),
    ],
    {
      open: since !== undefined || until !== undefined,
      content: [
        field({ name: 'from', label: 'From (UTC)', type: 'datetime-local', value: timeField(since) }),
        field({ name: 'to', label: 'To (UTC)', type: 'datetime-local', value: timeField(until) }),
      ],
    },
  );

/** Throws as the single action does. */
export const selectedDeliveries = selection({
  path: '/deliveries/selected',
  prefix: 'whd',
  noun: 'attempt',
  section: 'deliveries',
  acts: {
    redeliver: {
      label: 'Redeliver',
      confirm: 'Send the selected events once more?',
      notice: 'redelivered-many',
      run: (deps, scope, id) => redeliver(deps, scope, { id, endpointId: null }),
    },
  },
});

export const deliveryPage = page({
  path: '/deliveries/:id',
  params: Params,
  handle: async (visit, { db }) => {
    const { scope, params } = visit;
    const delivery = found(await findDelivery(db, scope, params.id), noun);
    const isOpen = delivery.state === 'queued' || delivery.state === 'sending';
    return {
      title: `Delivery of ${delivery.eventType}`,
      section: 'deliveries',
      trail: [['Deliveries', '/console/deliveries']],
      ...(isOpen && { refreshSeconds: 2 }),
      body: html`${heading(`Delivery of ${delivery.eventType}`, {
        state: html`<span role="status" id="status" data-live>${attemptBadge(delivery)}</span>`,
        about: html`to <a href="/console/endpoints/${delivery.endpointId}">${delivery.url}</a> · event ${idText(delivery.eventId)}`,
        actions: button(visit, {
          action: `/console/deliveries/${delivery.id}/redeliver`,
          label: 'Redeliver',
          look: 'primary',
          confirm: 'Send this event once more?',
        }),
      })}
      ${live('problem', deliveryProblem(delivery))}
      ${live('facts', factsOf(delivery))}
      ${live('exchange', exchange(delivery))}`,
    };
  },
});

const factsOf = (delivery: WebhookDeliveryDetail): Html =>
  facts([
    ['When', time(delivery.createdAt)],
    ['Attempt', `${delivery.attempt}, ${triggers[delivery.trigger]}`],
    ['Took', delivery.durationMs === null ? '–' : duration(delivery.durationMs)],
    ['Next attempt', time(delivery.nextAttemptAt, 'none')],
    ...linkTo('Run', 'Show the run', 'runs', delivery.runId),
    ...linkTo('Connection', 'Show the connection', 'connections', delivery.connectionId),
    ...linkTo('Repeats', 'an earlier attempt', 'deliveries', delivery.redeliveryOf),
  ]);

const linkTo = (...[name, words, folder, id]: readonly [string, string, string, string | null]) =>
  id === null ? [] : [[name, html`<a href="/console/${folder}/${id}">${words}</a>`] as const];

const triggers = { auto: 'automatic', redelivery: 'a redelivery', recover: 'of a recovery', test: 'a test' } as const;

const exchange = ({
  payload,
  requestHeaders,
  responseHeaders,
  responseBody,
}: WebhookDeliveryDetail): Html => html`<div class="pair record">
  <div><h2>Request</h2>
    ${requestHeaders === null ? html`<p class="hint">Not sent.</p>` : json(requestHeaders, 'Headers of the request')}
    ${maybeJson(payload, 'Body of the request')}</div>
  <div><h2>Response</h2>
    ${responseHeaders === null ? html`<p class="hint">No response arrived.</p>` : json(responseHeaders, 'Headers of the response')}
    ${responseBody ? maybeJson(responseBody, 'Body of the response') : html`<p class="hint">No body.</p>`}</div>
</div>`;

/** Throws not_found, conflict (the org has no endpoint), rate_limited. */
export const redeliverOne = action({
  path: '/deliveries/:id/redeliver',
  params: Params,
  handle: async ({ scope, params }, deps) => {
    const delivery = await redeliver(deps, scope, { id: params.id, endpointId: null });
    return { to: `/console/deliveries/${delivery.id}`, notice: 'redelivered' };
  },
});
