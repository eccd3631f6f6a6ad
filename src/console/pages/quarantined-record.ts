import * as v from 'valibot';
import { findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { findQuarantined } from '../../../db/queries/runs/records/quarantine.ts';
import { bodyId, idParams } from '../../api/inputs.ts';
import { requeueConnection, requeueRecord } from '../../control/runs/requeue.ts';
import { found } from '../../core/errors.ts';
import { timeOfId } from '../../core/ids.ts';
import { idText } from '../parts/code.ts';
import { button } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { html } from '../parts/html.ts';
import { markedJson } from '../parts/marked-json.ts';
import { badge } from '../parts/status.ts';
import { facts, table } from '../parts/table.ts';
import { time } from '../parts/time.ts';
import { action, page } from '../route.ts';
import { addressOf, errorWords, pathOf } from './quarantine.ts';
import { recordAddress } from './record.ts';

const Params = idParams('quar', 'Quarantined record');

export const quarantinedRecord = page({
  path: '/quarantine/:id',
  params: Params,
  handle: async (visit, { db }) => {
    const { scope, params } = visit;
    const record = found(await findQuarantined(db, scope, params.id), 'Quarantined record');
    const { connectionId, resourceKey, externalId, resolvedAt } = record;
    const name = (await findConnectionNames(db, scope, [connectionId])).get(connectionId) ?? 'a deleted connection';
    const reasons = Array.isArray(record.validationErrors) ? record.validationErrors : [];
    return {
      title: `Quarantined record ${externalId}`,
      section: 'quarantine',
      trail: [
        ['Quarantine', '/console/quarantine'],
        [`${name} · ${resourceKey}`, addressOf(connectionId, { resource: resourceKey })],
      ],
      body: html`${heading(`Record ${externalId}`, {
        state: resolvedAt === null ? badge('warn', 'Quarantined') : badge('good', 'Resolved'),
        about: html`${resourceKey} of ${name} · ${idText(record.id)}`,
        actions:
          resolvedAt === null
            ? button(visit, { action: `/console/quarantine/${record.id}/requeue`, label: 'Requeue', look: 'primary' })
            : null,
      })}
      ${facts([
        ['Connection', html`<a href="/console/connections/${connectionId}">${name}</a>`],
        ['Record', html`<a href="${recordAddress(connectionId, resourceKey, externalId)}">All that is known of it</a>`],
        ['Quarantined', time(timeOfId(record.id).toISOString())],
        ['Resolved', time(resolvedAt, 'not yet')],
      ])}
      <div class="pair record">
        <div><h2>The record as it was read</h2>${markedJson(record.rawJson, { paths: reasons.map(pathOf), label: 'The record' })}</div>
        <div><h2>Why it was not delivered</h2>
          ${table({
            caption: 'Reasons',
            rows: reasons,
            empty: 'No reason is stored.',
            columns: [{ head: 'Reason', kind: 'wide', cell: errorWords }],
          })}
          <p class="hint">Correct the record at the API, or the rules in the spec. A requeued record is tried by the next run of its
          resource, as it is stored here, under the spec of that run.</p>
        </div>
      </div>`,
    };
  },
});

/** Throws not_found. */
export const requeueOne = action({
  path: '/quarantine/:id/requeue',
  params: Params,
  handle: async ({ scope, params }, deps) => {
    await requeueRecord(deps, scope, params.id);
    return { to: `/console/quarantine/${params.id}`, notice: 'requeued' };
  },
});

/** Throws not_found. */
export const requeueAll = action({
  path: '/quarantine/requeue-all',
  form: v.object({ connectionId: bodyId('con'), resource: v.optional(v.pipe(v.string(), v.minLength(1))) }),
  handle: async ({ scope, form: { connectionId, resource } }, deps) => {
    const count = await requeueConnection(deps, scope, { connectionId, resourceKey: resource ?? null });
    return { to: addressOf(connectionId, { resource }), notice: 'requeued-many', count };
  },
});
