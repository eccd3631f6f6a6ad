import { createSession, sessionOf } from '../../control/connect-sessions/create-session.ts';
import { button } from '../parts/form.ts';
import { type Html, html } from '../parts/html.ts';
import { shownOnce } from '../parts/shown-once.ts';
import { section } from '../parts/table.ts';
import { action, type Visit } from '../route.ts';
import { ConnectionParams } from './connection-frame.ts';

/** A link by which its customer connects again; shown once. Throws not_found, conflict. */
export const beginConnectSession = action({
  path: '/connections/:id/connect-session',
  params: ConnectionParams,
  handle: async ({ scope, params }, deps) => {
    const { url, expiresAt } = await createSession(deps, scope, sessionOf(params.id));
    const back = `/console/connections/${params.id}/settings`;
    return {
      title: 'The link is ready',
      section: 'connections',
      trail: [
        ['Connections', '/console/connections'],
        ['Settings', back],
      ],
      body: shownOnce({
        title: 'The link is ready',
        values: [['Link for the customer', url]],
        next: `It is for one person, and good until ${expiresAt}. Whoever has it can connect: send it to your customer alone.`,
        back,
      }),
    };
  },
});

export const connectSessionPart = (visit: Visit, connectionId: string): Html =>
  section(
    'Let the customer connect again',
    html`<p>A link to a page on which your customer consents anew, or enters again what they entered before. The connection changes only
      when its test has succeeded.</p>`,
    button(visit, { action: `/console/connections/${connectionId}/connect-session`, label: 'Make a link' }),
  );
