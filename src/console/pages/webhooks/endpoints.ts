import * as v from 'valibot';
import { firstRows } from '../../../../db/listing.ts';
import { listEndpoints } from '../../../../db/queries/webhooks/endpoints.ts';
import { boundedList } from '../../../api/bounded-list.ts';
import { createEndpoint } from '../../../control/webhooks/endpoints.ts';
import { eventTypes, isDefaultEvent } from '../../../core/resources/event-types.ts';
import { EventType, type WebhookEndpointRow } from '../../../core/resources/webhook-endpoint.ts';
import { details } from '../../parts/code.ts';
import { checkbox, field, form } from '../../parts/form.ts';
import { heading, live } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { pageRows } from '../../parts/pager.ts';
import { shownOnce } from '../../parts/shown-once.ts';
import { endpointBadge } from '../../parts/status.ts';
import { nothing, table } from '../../parts/table.ts';
import { ago } from '../../parts/time.ts';
import { action, page, type Visit } from '../../route.ts';

export const endpointsPage = page({
  path: '/endpoints',
  handle: async (visit, { db }) => {
    const endpoints = await firstRows(await listEndpoints(db, visit.scope), pageRows);
    return {
      title: 'Endpoints',
      section: 'endpoints',
      refreshSeconds: 10,
      body: html`${heading('Endpoints', { about: 'Your URLs that are notified of events.' })}
        ${live('endpoints', endpointTable(endpoints))}
        ${details('new-endpoint', 'Add an endpoint', createForm(visit))}`,
    };
  },
});

const endpointTable = (endpoints: readonly WebhookEndpointRow[]): Html =>
  table({
    caption: 'Endpoints',
    rows: endpoints,
    empty: nothing('No endpoint yet.', 'Add one, and your own service learns of runs, quarantined records and errors.'),
    columns: [
      {
        head: 'Endpoint',
        kind: 'wide',
        cell: ({ id, url, description }) =>
          html`<a class="strong" href="/console/endpoints/${id}">${url}</a>${description ? html`<br><span class="muted">${description}</span>` : ''}`,
      },
      { head: 'State', narrow: 'lead', cell: ({ state }) => endpointBadge(state) },
      {
        head: 'Events',
        cell: ({ eventTypes: types }) =>
          types === null ? 'the usual ones' : `${types.length} of ${eventTypes.length} types`,
      },
      { head: 'Last success', narrow: 'named', cell: ({ lastSuccessAt }) => ago(lastSuccessAt) },
      { head: 'Failing since', narrow: 'out', cell: ({ firstFailureAt }) => ago(firstFailureAt, '–') },
    ],
  });

const createForm = (visit: Visit): Html =>
  form(visit, { action: '/console/endpoints', class: 'stack' }, [
    field({
      name: 'url',
      label: 'URL',
      type: 'url',
      required: true,
      placeholder: 'https://hooks.example.com/sync',
      hint: 'https, at a public address.',
    }),
    field({ name: 'description', label: 'Description' }),
    html`<fieldset class="columns"><legend>Events</legend>${eventTypes
      .filter((type) => type !== 'webhook.test')
      .map((type) => checkbox('eventTypes[]', type, { value: type, checked: isDefaultEvent(type) }))}</fieldset>`,
    html`<button>Add the endpoint</button>`,
  ]);

/** Shows the secret this once. Throws validation (url), conflict (the org has ten). */
export const addEndpoint = action({
  path: '/endpoints',
  form: v.object({
    url: v.string(),
    description: v.optional(v.pipe(v.string(), v.maxLength(500)), ''),
    eventTypes: v.pipe(
      v.optional(boundedList(EventType, EventType.options.length), []),
      v.minLength(1, 'select at least one event'),
    ),
  }),
  handle: async ({ scope, form: { url, description, eventTypes: types } }, deps) => {
    const isUsual = eventTypes.every((type) => types.includes(type) === isDefaultEvent(type));
    const endpoint = await createEndpoint(deps, scope, {
      url: url.trim(),
      description: description === '' ? null : description,
      eventTypes: isUsual ? null : types,
      connectionIds: null,
      workspaceIds: null,
      secret: null,
      enabled: true,
      rateLimitPerSecond: null,
      maxInFlight: 10,
      timeoutMs: 15_000,
      ordering: 'any',
      signatureSchemes: ['v1'],
      verifyOnCreate: false,
    });
    const back = `/console/endpoints/${endpoint.id}`;
    return {
      title: 'The endpoint is created',
      section: 'endpoints',
      trail: [['Endpoints', '/console/endpoints']],
      body: shownOnce({
        title: 'The endpoint is created',
        values: [['Signing secret', endpoint.secret ?? '']],
        next: 'Your service verifies requests with it, by the rules of Standard Webhooks.',
        back,
      }),
    };
  },
});
