/** Stands in for `src/core/destinations/webhook/client.ts`: requests go to the simulated receiver. */
import type * as real from '../../../src/core/destinations/webhook/client.ts';
import { interpretResponse } from '../../../src/core/destinations/webhook/response.ts';
import { AppError } from '../../../src/core/errors.ts';
import { currentReceiver } from '../current.ts';

export const createWebhookClient: typeof real.createWebhookClient = ({ url, timeoutMs }, _deps, now) => {
  const closing = new AbortController();
  return {
    async post({ id, body }) {
      const ending = new AbortController();
      const close = (): void => ending.abort(closing.signal.reason);
      if (closing.signal.aborted) close();
      closing.signal.addEventListener('abort', close, { once: true });
      const timer = setTimeout(
        () => ending.abort(new AppError('source_unavailable', 'No response in time.')),
        timeoutMs,
      );
      try {
        return interpretResponse(await currentReceiver().post({ url: url.href, id, body }, ending.signal), now());
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'source_unavailable') throw error;
        return { kind: 'failing', what: 'sent no response' };
      } finally {
        clearTimeout(timer);
        closing.signal.removeEventListener('abort', close);
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('The destination was closed.'));
    },
  };
};
