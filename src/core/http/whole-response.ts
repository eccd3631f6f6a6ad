import type { Dispatcher } from 'undici';
import { collectBytes } from '../collected-bytes.ts';
import { type HeldMemory, lightBytes, type ResponseMemory } from '../model/response-memory.ts';
import { flatHeaders } from './flat-headers.ts';

/** A response with all of its body, as it was sent. */
export interface WholeResponse {
  readonly status: number;
  /** The headers, their names in lower case; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The memory of the body, which whoever reads it gives back. */
  readonly held: HeldMemory;
}

/** Where reading ends early, which closes the socket. */
interface ResponseLimits {
  readonly signal: AbortSignal;
  readonly bytesMax: number;
  /** The error for a longer body. */
  readonly tooLarge: () => Error;
  /** Holds the memory of a body that is not light. */
  readonly memory: Pick<ResponseMemory, 'open'>;
}

/**
 * Sends a request and reads the whole response. A body that is wanted as one piece needs no stream, which would cost each
 * page of an API five turns of promises (0.1 ms where the process was idle). Throws the signal's reason, `tooLarge`,
 * `ThrottledError` and the errors of undici.
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
    // Before it has a socket a request cannot be aborted.
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
