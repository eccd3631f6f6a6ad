import { findRecovery } from '../../../../db/queries/webhooks/recoveries.ts';
import { idParams } from '../../../api/inputs.ts';
import { found } from '../../../core/errors.ts';
import { shareBar } from '../../parts/chart.ts';
import { heading, live } from '../../parts/frame.ts';
import { html } from '../../parts/html.ts';
import { count, counted } from '../../parts/numbers.ts';
import { badge } from '../../parts/status.ts';
import { facts } from '../../parts/table.ts';
import { time } from '../../parts/time.ts';
import { page } from '../../route.ts';

/** A recovery sends past events to an endpoint again. */
export const recoveryPage = page({
  path: '/recoveries/:id',
  params: idParams('whr', 'Webhook recovery'),
  handle: async ({ scope, params }, { db }) => {
    const recovery = found(await findRecovery(db, scope, params.id), 'Webhook recovery');
    const { status, total, sent, endpointId, since, until, include, createdAt } = recovery;
    const isOver = status === 'finished';
    return {
      title: 'Recovery',
      section: 'endpoints',
      trail: [
        ['Endpoints', '/console/endpoints'],
        ['Endpoint', `/console/endpoints/${endpointId}`],
      ],
      ...(isOver ? {} : { refreshSeconds: 3 }),
      body: html`${heading('Recovery', {
        state: html`<span role="status" id="status" data-live>${isOver ? badge('good', 'Finished') : badge('busy', 'Running')}</span>`,
        about: 'Past events that are sent to the endpoint again.',
      })}
      ${live('progress', [
        html`<p>${count(sent)} of ${counted(total, 'event')} accepted by the receiver.</p>`,
        shareBar(
          [
            { look: 'good', words: 'Accepted', value: sent },
            { look: 'none', words: 'Not accepted yet', value: Math.max(0, total - sent) },
          ],
          `${count(sent)} of ${counted(total, 'event')} accepted`,
        ),
      ])}
      ${facts([
        ['From', time(since)],
        ['To', time(until)],
        ['Which', include.join(', ')],
        ['Requested', time(createdAt)],
      ])}`,
    };
  },
});
