import * as v from 'valibot';
import { findSchedule } from '../../../db/queries/schedules.ts';
import { idParams } from '../../api/inputs.ts';
import { createSchedule, deleteSchedule, toggleSchedule } from '../../control/schedules/schedules.ts';
import { found } from '../../core/errors.ts';
import type { ConnectionStatus } from '../../core/resources/connection.ts';
import type { ScheduleRow } from '../../core/resources/schedule.ts';
import { button } from '../parts/form.ts';
import { type Html, html } from '../parts/html.ts';
import { cronWords, nextTimes } from '../parts/schedule-words.ts';
import { table } from '../parts/table.ts';
import { action, type Visit } from '../route.ts';

const ScheduleParams = idParams('sched', 'Schedule');

export const scheduleTable = (
  visit: Visit,
  { schedules, status }: { readonly schedules: readonly ScheduleRow[]; readonly status: ConnectionStatus },
): Html =>
  table({
    caption: 'Schedules',
    rows: schedules,
    empty: 'Nothing syncs by itself yet.',
    columns: [
      { head: 'Resource', cell: ({ resourceKey }) => html`<span class="strong">${resourceKey}</span>` },
      {
        head: 'When',
        kind: 'wide',
        cell: ({ cron, timezone }) =>
          html`${cronWords(cron)} <span class="muted">(${timezone})</span><br><code class="muted">${cron}</code>`,
      },
      { head: 'Next', cell: (schedule) => nextTimes(schedule, status) },
      {
        head: 'Actions',
        kind: 'acts',
        cell: ({ id, enabled }) => [
          button(visit, {
            action: `/console/schedules/${id}/toggle`,
            label: enabled ? 'Disable' : 'Enable',
            fields: { enabled: String(!enabled) },
          }),
          button(visit, {
            action: `/console/schedules/${id}/delete`,
            label: 'Delete',
            look: 'danger',
            confirm: 'Delete this schedule? Runs that it has started continue.',
          }),
        ],
      },
    ],
  });

/** Throws not_found, validation (cron, timezone, resource), conflict. */
export const addSchedule = action({
  path: '/connections/:id/schedules',
  params: idParams('con', 'Connection'),
  form: v.object({ resource: v.string(), cron: v.string(), timezone: v.optional(v.string(), 'UTC') }),
  handle: async ({ scope, params, form: { resource, ...times } }, deps) => {
    await createSchedule(deps, scope, { connectionId: params.id, resourceKey: resource, ...times });
    return { to: `/console/connections/${params.id}`, notice: 'schedule-created' };
  },
});

/** Throws not_found. */
export const switchSchedule = action({
  path: '/schedules/:id/toggle',
  params: ScheduleParams,
  form: v.object({ enabled: v.picklist(['true', 'false']) }),
  handle: async ({ scope, params, form }, deps) => {
    const { connectionId } = await toggleSchedule(deps, scope, { id: params.id, enabled: form.enabled === 'true' });
    return { to: `/console/connections/${connectionId}`, notice: 'schedule-changed' };
  },
});

/** Runs that it has created continue. Throws not_found. */
export const removeSchedule = action({
  path: '/schedules/:id/delete',
  params: ScheduleParams,
  handle: async ({ scope, params }, deps) => {
    const { connectionId } = found(await findSchedule(deps.db, scope, params.id), 'Schedule');
    await deleteSchedule(deps, scope, params.id);
    return { to: `/console/connections/${connectionId}`, notice: 'schedule-deleted' };
  },
});
