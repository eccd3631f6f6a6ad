import * as v from 'valibot';
import { listSchedules } from '../../../db/queries/schedules.ts';
import { createSchedule, deleteSchedule, toggleSchedule } from '../../control/schedules/schedules.ts';
import { ScheduleRow } from '../../core/resources/schedule.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { idParams } from '../inputs.ts';
import { route } from '../route.ts';
import { listOfConnection } from './list-of-connection.ts';

const Params = idParams('sched', 'Schedule');
const ConnectionParams = idParams('con', 'Connection');
const tag = 'schedules';

export const scheduleRoutes = [
  listOfConnection(tag, ScheduleRow, listSchedules),
  route({
    method: 'post',
    path: '/connections/:id/schedules',
    summary: 'Create a schedule for a resource',
    description:
      'Created enabled; it fires while the connection is active. A firing creates no run while another run of the resource is still queued. After an outage, one run replaces all missed firings; after a pause, no run does. Temporal drops missed firings that are older than twice the longest interval of the schedule (10 minutes to a day). The event `schedule.skipped` reports them. Nothing fires in an hour that a zone skips; firings in an hour that it repeats fire twice.',
    tag,
    auth: 'api_key',
    params: ConnectionParams,
    body: v.object({
      resourceKey: v.pipe(v.string(), v.minLength(1), v.description('Key of the resource.')),
      cron: v.pipe(
        v.string(),
        v.description(
          'Minute, hour, day of month, month, day of week; with 6 fields the second comes first. When both day fields are restricted, either may match. `L` is the last day of the month, `5L` its last Friday, `1#2` its second Monday.',
        ),
      ),
      timezone: v.pipe(v.optional(v.string(), 'UTC'), v.description('A zone of the IANA database.')),
    }),
    bodyExample: { resourceKey: 'contacts', cron: '*/15 * * * *', timezone: 'Europe/Berlin' },
    status: 201,
    response: ScheduleRow,
    errors: ['not_found', 'conflict'],
    repeated: 'same_response',
    handle: ({ scope, params, body }, deps) => createSchedule(deps, scope, { ...body, connectionId: params.id }),
  }),
  route({
    method: 'patch',
    path: '/schedules/:id',
    summary: 'Enable or disable a schedule',
    description: 'Firings missed while it was disabled are dropped.',
    tag,
    auth: 'api_key',
    params: Params,
    body: v.object({ enabled: v.boolean() }),
    bodyExample: { enabled: false },
    status: 200,
    response: ScheduleRow,
    errors: ['not_found'],
    handle: ({ scope, params, body }, deps) => toggleSchedule(deps, scope, { ...body, id: params.id }),
  }),
  route({
    method: 'delete',
    path: '/schedules/:id',
    summary: 'Delete a schedule',
    description: 'Runs that it has started continue.',
    tag,
    auth: 'api_key',
    params: Params,
    status: 200,
    response: Deleted,
    errors: ['not_found'],
    handle: ({ scope, params }, deps) => deleteSchedule(deps, scope, params.id).then(deleted),
  }),
];
