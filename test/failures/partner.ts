import type { Stack } from '../support/service/stack.ts';
import { createEndpoint } from '../support/webhooks/endpoints.ts';
import type { EventReceiver } from '../support/webhooks/event-receiver.ts';
import { type Lookout, orError, type Subject } from './lookout.ts';

/** An endpoint for events whose receiver can respond with 500. */
export interface Partner extends Subject {
  fails: boolean;
}

/** Creates it beside the operator's. */
export async function addPartner(stack: Stack, receiver: EventReceiver, lookout: Lookout): Promise<Partner> {
  const { id, queue } = await createEndpoint(stack, receiver, { name: 'partner' });
  const accepted: string[] = [];
  const state = () =>
    orError(async () => {
      const endpoint = await lookout.api(`/webhook-endpoints/${id}`);
      return endpoint.state === 'ok' ? null : endpoint.state;
    });
  const partner: Partner = {
    fails: false,
    signs: async (since) => ({
      event: lookout.event(id, since),
      state: await state(),
      console: await lookout.console(id),
    }),
    async trouble() {
      const shown = { state: await state(), lost: await partner.lost() };
      return shown.state === null && shown.lost === 0 ? null : `partner: ${JSON.stringify(shown)}`;
    },
    async lost() {
      const { succeeded: _arrived, ...others } = await queue();
      return Object.values(others).reduce((sum, count) => sum + count, 0);
    },
    doubled: async () => accepted.length - new Set(accepted).size,
  };
  receiver.reply('partner', (event) => {
    if (partner.fails) return { status: 500, body: '' };
    accepted.push(event.id);
    return undefined;
  });
  return partner;
}
