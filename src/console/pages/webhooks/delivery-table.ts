import type { DeliveryLine } from '../../../../db/queries/webhooks/deliveries.ts';
import type { WebhookDeliveryDetail } from '../../../core/resources/webhook-delivery.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { duration } from '../../parts/numbers.ts';
import { badge } from '../../parts/status.ts';
import { type Column, table } from '../../parts/table.ts';
import { ago } from '../../parts/time.ts';

export function attemptBadge({
  state,
  delivered,
  statusCode,
  errorCode,
}: Pick<WebhookDeliveryDetail, 'state' | 'delivered' | 'statusCode' | 'errorCode'>): Html {
  if (state === 'queued') return badge('idle', 'Queued');
  if (state === 'sending') return badge('busy', 'Sending');
  if (state === 'unknown') return badge('warn', 'Unknown');
  return badge(delivered ? 'good' : 'bad', String(statusCode ?? errorCode ?? 'No response'));
}

interface DeliveryTableOptions {
  /** Set for attempts of several endpoints. */
  readonly showsUrl?: boolean;
  /** The column with which attempts are selected. */
  readonly select?: Column<DeliveryLine>;
  readonly empty?: Content;
}

export const deliveryTable = (
  rows: readonly DeliveryLine[],
  { showsUrl = false, select, empty = 'Nothing was sent yet.' }: DeliveryTableOptions = {},
): Html =>
  table({
    caption: 'Attempts',
    rows,
    empty,
    columns: [
      ...(select ? [select] : []),
      {
        head: 'When',
        narrow: 'lead',
        cell: ({ id, createdAt }) => html`<a href="/console/deliveries/${id}">${ago(createdAt)}</a>`,
      },
      { head: 'Event', narrow: 'lead', cell: ({ eventType }) => html`<code>${eventType}</code>` },
      ...(showsUrl
        ? [
            {
              head: 'Endpoint',
              kind: 'wide' as const,
              cell: ({ url, endpointId }: DeliveryLine) => html`<a href="/console/endpoints/${endpointId}">${url}</a>`,
            },
          ]
        : []),
      { head: 'Result', narrow: 'lead', cell: attemptBadge },
      {
        head: 'Attempt',
        narrow: 'named',
        kind: 'number',
        cell: ({ attempt, trigger }) => (trigger === 'auto' ? attempt : `${attempt} (${trigger})`),
      },
      { head: 'Took', kind: 'number', cell: ({ durationMs }) => (durationMs === null ? '–' : duration(durationMs)) },
      {
        head: 'Run',
        narrow: 'out',
        cell: ({ runId }) => (runId === null ? '–' : html`<a href="/console/runs/${runId}">Run</a>`),
      },
    ],
  });
