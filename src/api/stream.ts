import type { Listing } from '../../db/listing.ts';

/** A list as a handler gives it: complete, or read while it is sent. */
export type ListResult<Row = unknown> = readonly Row[] | Listing<Row>;

/** A list as it goes out. */
export interface ListBody {
  readonly total: number;
  /** One JSON array: as text when it fits into one piece, otherwise as a stream so that memory stays flat. */
  readonly body: string | ReadableStream<Uint8Array>;
}

/** Characters gathered before they are sent: few writes, little memory. */
const chunkChars = 65_536;

/** The list as one JSON array. `onError` hears of a failure after the answer has begun: the connection is then cut. */
export async function toListBody(result: ListResult, onError: (error: unknown) => void): Promise<ListBody> {
  if (!isListing(result)) return { total: result.length, body: JSON.stringify(result) };
  const { total, rows } = result;
  const chunks = chunksOf(rows);
  const first = await chunks.next();
  const second = await chunks.next();
  if (second.done) return { total, body: first.value ?? '' };
  return { total, body: streamOf(startingWith([first.value ?? '', second.value], chunks), onError) };
}

async function* startingWith(
  read: readonly string[],
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  yield* read;
  yield* rest;
}

const isListing = (result: ListResult): result is Listing<unknown> => !Array.isArray(result);

function streamOf(chunks: AsyncGenerator<string, void>, onError: (error: unknown) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        onError(error);
        controller.error(error);
      }
    },
    async cancel() {
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
