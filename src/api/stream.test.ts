import { text } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import { toListBody } from './stream.ts';

async function* rows(count: number, failAt = Infinity) {
  for (let id = 0; id < count; id += 1) {
    if (id === failAt) throw new Error('database gone');
    yield { id, note: 'x'.repeat(100) };
  }
}
const ignore = () => undefined;

describe('a list', () => {
  it.each([0, 1, 100])('of %i rows goes out in one piece', async (total) => {
    const { body } = await toListBody({ total, rows: rows(total) }, ignore);
    expect(body).toBeTypeOf('string');
    expect(JSON.parse(body as string)).toHaveLength(total);
  });

  it('given as an array goes out as it is', async () => {
    expect(await toListBody([{ id: 1 }], ignore)).toEqual({ total: 1, body: '[{"id":1}]' });
  });

  it('of more rows is streamed in chunks that are one JSON array', async () => {
    const { total, body } = await toListBody({ total: 5000, rows: rows(5000) }, ignore);
    expect(total).toBe(5000);
    expect(body).toBeInstanceOf(ReadableStream);
    const received = JSON.parse(await text(body as ReadableStream));
    expect(received.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 5000 }, (_row, id) => id));
  });

  it('is read only as fast as it is taken', async () => {
    let read = 0;
    const counted = async function* () {
      for await (const row of rows(100_000)) {
        read += 1;
        yield row;
      }
    };
    const { body } = await toListBody({ total: 100_000, rows: counted() }, ignore);
    const reader = (body as ReadableStream).getReader();
    await reader.read();
    expect(read).toBeLessThan(3000);
    await reader.cancel();
  });

  it('that breaks off is an error to the reader, never a shorter list', async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const { body } = await toListBody({ total: 5000, rows: rows(5000, 3000) }, onError);
    await expect(text(body as ReadableStream)).rejects.toThrow('database gone');
    expect(onError).toHaveBeenCalledOnce();
  });
});
