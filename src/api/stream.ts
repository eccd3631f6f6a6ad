import type { Listing } from '../../db/listing.ts';

export interface ListBody {
  readonly total: number;
  /** The JSON array: a text if it fits into one piece, otherwise a stream so that memory stays flat. */
  readonly body: string | ReadableStream<Uint8Array>;
}

/** Few writes, little memory. */
const chunkChars = 65_536;

export interface ListEvents {
  /** The list lasts as long as its reader; errors thrown here are passed on. */
  readonly onLong?: () => void;
  /** Called after the response had begun: the connection is cut. */
  readonly onError: (error: unknown) => void;
  /** With or without an error. */
  readonly onEnd?: () => void;
}

export async function toListBody({ total, rows }: Listing<unknown>, events: ListEvents): Promise<ListBody> {
  const chunks = chunksOf(rows);
  const first = await chunks.next();
  const second = await chunks.next();
  if (second.done) return { total, body: first.value ?? '' };
  events.onLong?.();
  return { total, body: streamOf(startingWith([first.value ?? '', second.value], chunks), events) };
}

async function* startingWith(
  read: readonly string[],
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  yield* read;
  yield* rest;
}

function streamOf(chunks: AsyncGenerator<string, void>, { onError, onEnd }: ListEvents): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOver = false;
  const end = () => {
    if (!isOver) onEnd?.();
    isOver = true;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) {
          controller.close();
          end();
        } else controller.enqueue(encoder.encode(value));
      } catch (error) {
        // The reader disconnected during the read.
        if (isOver) return;
        onError(error);
        end();
        controller.error(error);
      }
    },
    async cancel() {
      end();
      await chunks.return();
    },
  });
}

async function* chunksOf(rows: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  let text = '[';
  let separator = '';
  for await (const row of rows) {
    text += separator + JSON.stringify(row);
    separator = ',';
    if (text.length >= chunkChars) {
      yield text;
      text = '';
    }
  }
  yield `${text}]`;
}
