import * as v from 'valibot';
import { findConnection } from '../../../db/queries/connections/connections.ts';
import { activateConnection, pauseConnection } from '../../control/connections/connections.ts';
import { testConnection } from '../../control/connections/test-connection.ts';
import { requestRun } from '../../control/runs/runs.ts';
import { found } from '../../core/errors.ts';
import type { ConnectionTest } from '../../core/resources/connection.ts';
import { failureAdvice } from '../parts/failure.ts';
import { button } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { duration } from '../parts/numbers.ts';
import { badge } from '../parts/status.ts';
import { section, table } from '../parts/table.ts';
import { action } from '../route.ts';
import { ConnectionParams } from './connection-frame.ts';

const resourceName = v.pipe(v.string(), v.minLength(1));

/** Throws not_found, conflict, validation, rate_limited. */
export const syncResource = action({
  path: '/connections/:id/sync',
  params: ConnectionParams,
  form: v.object({ resource: resourceName }),
  handle: async ({ scope, params, form }, deps) => {
    const request = { connectionId: params.id, resourceKey: form.resource, trigger: 'manual', backfill: null } as const;
    const run = await requestRun(deps, scope, request);
    return { to: `/console/runs/${run.id}`, notice: 'run-queued' };
  },
});

/** Throws not_found, conflict, validation, rate_limited. */
export const backfillResource = action({
  path: '/connections/:id/backfill',
  params: ConnectionParams,
  form: v.object({ resource: resourceName, from: v.optional(v.string(), ''), force: v.optional(v.string()) }),
  handle: async ({ scope, params, form }, deps) => {
    const from = form.from.trim();
    const run = await requestRun(deps, scope, {
      connectionId: params.id,
      resourceKey: form.resource,
      trigger: 'backfill',
      backfill: { from: from === '' ? null : startOf(from), force: form.force !== undefined },
    });
    return { to: `/console/runs/${run.id}`, notice: 'run-queued' };
  },
});

/** Forms send text, but a numeric cursor needs a number. */
const startOf = (text: string): string | number => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** From any status. Throws not_found, plan_limit. */
export const activate = action({
  path: '/connections/:id/activate',
  params: ConnectionParams,
  handle: async ({ scope, params }, deps) => {
    await activateConnection(deps, scope, params.id);
    return { to: `/console/connections/${params.id}`, notice: 'activated' };
  },
});

/** Also asks open runs to stop. Throws not_found. */
export const pause = action({
  path: '/connections/:id/pause',
  params: ConnectionParams,
  handle: async ({ scope, params }, deps) => {
    await pauseConnection(deps, scope, params.id);
    return { to: `/console/connections/${params.id}`, notice: 'paused' };
  },
});

/**
 * Tests a connection and shows the result; nothing is delivered. With `activate`, one that passes is activated instead. Throws
 * not_found, validation (no such resource), plan_limit.
 */
export const test = action({
  path: '/connections/:id/test',
  params: ConnectionParams,
  form: v.object({ resource: v.optional(resourceName), activate: v.optional(v.string()) }),
  handle: async (visit, deps) => {
    const { scope, params, form } = visit;
    const connection = found(await findConnection(deps.db, scope, params.id), 'Connection');
    const { test: result } = await deps.costly.run(scope.orgId, 'side_by_side', () =>
      testConnection(deps, scope, { connectionId: params.id, resourceKey: form.resource ?? null }),
    );
    const back = `/console/connections/${params.id}`;
    if (form.activate !== undefined && result.ok) {
      await activateConnection(deps, scope, params.id);
      return { to: back, notice: 'tested-and-activated' };
    }
    return {
      title: `Test of ${connection.displayName}`,
      section: 'connections',
      trail: [
        ['Connections', '/console/connections'],
        [connection.displayName, back],
      ],
      body: html`${heading('Test', {
        state: result.ok ? badge('good', 'Everything works') : badge('bad', 'Something fails'),
        about: connection.displayName,
      })}
        ${testResult(result)}
        <div class="after">${connection.status === 'active' ? null : button(visit, { action: `${back}/activate`, label: result.ok ? 'Activate' : 'Activate anyway', look: result.ok ? 'primary' : '' })}
          <a class="button" href="${back}">Back to the connection</a></div>`,
    };
  },
});

const stepNames = { values: 'Values', source: 'API', destination: 'Destination' } as const;

const testResult = ({ steps, calls }: ConnectionTest): Html => html`
  ${table({
    caption: 'Steps',
    rows: steps,
    empty: 'No step was tried.',
    columns: [
      { head: 'Step', cell: ({ step }) => html`<span class="strong">${stepNames[step]}</span>` },
      { head: 'Result', narrow: 'lead', cell: ({ ok }) => (ok ? badge('good', 'Works') : badge('bad', 'Fails')) },
      {
        head: 'What happened',
        kind: 'wide',
        cell: ({ message, code }) => html`${message}${code === null ? '' : failureAdvice(code)}`,
      },
      { head: 'Took', kind: 'number', cell: ({ durationMs }) => duration(durationMs) },
    ],
  })}
  ${section(
    'Requests that were sent',
    table({
      caption: 'Requests',
      rows: calls,
      empty: 'None.',
      columns: [
        { head: 'Request', kind: 'wide', cell: ({ method, url }) => html`<code>${method} ${url}</code>` },
        {
          head: 'Status',
          narrow: 'lead',
          cell: ({ statusCode, errorCode }) => statusCode ?? errorCode ?? 'no response',
        },
        { head: 'Took', kind: 'number', cell: ({ durationMs }) => duration(durationMs) },
      ],
    }),
  )}`;
