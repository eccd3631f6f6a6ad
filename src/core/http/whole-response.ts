import type { Dispatcher } from 'undici';
import { collectBytes } from '../collected-bytes.ts';
import { type HeldMemory, lightBytes, type ResponseMemory } from '../model/response-memory.ts';
import { flatHeaders } from './flat-headers.ts';

/** Still encoded. */
export interface WholeResponse {
  readonly status: number;
  /** Names in lower case, repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** To be released by the reader of the body. */
  readonly held: HeldMemory;
}

/** Reading ends early, which closes the socket. */
interface ResponseLimits {
  readonly signal: AbortSignal;
  readonly bytesMax: number;
  readonly tooLarge: () => Error;
  /** For a body that is not light. */
  readonly memory: Pick<ResponseMemory, 'open'>;
}

/**
 * A stream would cost each page of an API five turns of promises (0.1 ms in an idle process). Throws the signal's reason,
 * `tooLarge`, `ThrottledError` and the errors of undici.
 */
export function requestWhole(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signal, bytesMax, tooLarge, memory }: ResponseLimits,
): Promise<WholeResponse> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<WholeResponse>();
  const collected = collectBytes();
  const held = memory.open();
  let bytes = 0;
  let heldBytes = 0;
  let head: Omit<WholeResponse, 'body' | 'held'> = { status: 0, headers: {} };
  let controller: Dispatcher.DispatchController | null = null;

  const abort = (): void => {
    controller?.abort(signal.reason);
    // Without a socket a request cannot be aborted.
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  const end = () => signal.removeEventListener('abort', abort);

  dispatcher.dispatch(request, {
    onRequestStart(started) {
      controller = started;
      if (signal.aborted) started.abort(signal.reason);
    },
    onResponseStart(_controller, status, headers) {
      head = { status, headers: flatHeaders(headers) };
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      if (bytes > bytesMax) return controller?.abort(tooLarge());
      collected.add(chunk);
      if (bytes < heldBytes + lightBytes) return;
      try {
        held.hold(bytes);
        heldBytes = bytes;
      } catch (error) {
        controller?.abort(error as Error);
      }
    },
    onResponseEnd() {
      end();
      resolve({ ...head, body: collected.whole(), held });
    },
    onResponseError(_controller, error) {
      end();
      held.release();
      reject(error);
    },
  });
  return promise;
}
