import type { ConnectionRow } from '../../core/resources/connection.ts';
import { details } from '../parts/code.ts';
import { checkbox, field, form, select } from '../parts/form.ts';
import { type Html, html } from '../parts/html.ts';
import type { Visit } from '../route.ts';

interface Subject {
  readonly connection: ConnectionRow;
  readonly resourceKeys: readonly string[];
}

/** `of`: the form; each on a page has its own. */
const resourceChoice = (resourceKeys: readonly string[], of: string, label = 'Resource'): Html =>
  select({ name: 'resource', id: `${of}-resource`, label, options: resourceKeys.map((key) => [key, key] as const) });

export const testForm = (visit: Visit, id: string): Html =>
  form(visit, { action: `/console/connections/${id}/test`, class: 'inline' }, html`<button>Test</button>`);

/** Leads to the page of a record. */
export const recordForm = ({ connection, resourceKeys }: Subject): Html =>
  details(
    'record',
    'Look a record up',
    html`<form method="get" action="/console/connections/${connection.id}/record" class="stack">
      <div class="row">${resourceChoice(resourceKeys, 'record', 'Resource of the record')}${field({ name: 'key', label: 'Primary key', required: true, hint: 'As the API has it; of several fields as the quarantine shows it.' })}</div>
      <button>Look it up</button></form>`,
  );

export const backfillForm = (visit: Visit, { connection, resourceKeys }: Subject): Html =>
  details(
    'backfill',
    'Backfill a resource',
    form(visit, { action: `/console/connections/${connection.id}/backfill`, class: 'stack' }, [
      html`<p class="hint">Reads again up to the watermark, which does not change, and delivers the records that differ.</p>`,
      html`<div class="row">${resourceChoice(resourceKeys, 'backfill')}${field({
        name: 'from',
        label: 'From',
        placeholder: '2026-01-01T00:00:00Z',
        hint: 'A value of the cursor of the resource. Empty: from its beginning.',
      })}</div>`,
      checkbox('force', 'Also deliver unchanged records again, and send deletes that were held back'),
      html`<button>Start the backfill</button>`,
    ]),
  );

export const scheduleForm = (visit: Visit, { connection, resourceKeys }: Subject): Html =>
  details(
    'new-schedule',
    'Add a schedule',
    form(visit, { action: `/console/connections/${connection.id}/schedules`, class: 'stack' }, [
      html`<div class="row">${resourceChoice(resourceKeys, 'schedule')}${field({
        name: 'cron',
        label: 'Cron expression',
        required: true,
        placeholder: '*/15 * * * *',
        hint: 'Minute, hour, day of month, month, day of week.',
      })}${field({ name: 'timezone', label: 'Time zone', value: 'UTC', required: true, hint: 'Such as Europe/Berlin.' })}</div>`,
      html`<button>Add the schedule</button>`,
    ]),
  );

export const hookForm = (visit: Visit, { connection, resourceKeys }: Subject): Html =>
  details(
    'new-hook',
    'Add a hook',
    form(visit, { action: `/console/connections/${connection.id}/hooks`, class: 'stack' }, [
      html`<p class="hint">The API of the customer posts to a hook when something is new; a run starts at once.</p>`,
      html`<fieldset><legend>Resources to sync</legend>${resourceKeys.map((key) =>
        checkbox('resourceKeys[]', key, { value: key, checked: resourceKeys.length === 1 }),
      )}</fieldset>`,
      select({
        name: 'verification',
        label: 'How a request proves where it comes from',
        options: [
          ['standard_webhooks', 'Standard Webhooks'],
          ['github', 'GitHub'],
          ['stripe', 'Stripe'],
          ['shopify', 'Shopify'],
          ['slack', 'Slack'],
          ['none', 'Nothing: anyone with the address can start syncs'],
        ],
      }),
      html`<p class="hint">Other signatures are set up by <code>POST /api/v1/connections/:id/hooks</code>.</p>`,
      html`<button>Add the hook</button>`,
    ]),
  );
