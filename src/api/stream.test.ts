import { text } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import { listingOf } from '../../db/listing.ts';
import { toListBody } from './stream.ts';

async function* rows(count: number, failAt = Infinity) {
  for (let id = 0; id < count; id += 1) {
    if (id === failAt) throw new Error('database gone');
    yield { id, note: 'x'.repeat(100) };
  }
}
const ignore = { onError: () => undefined };

describe('a list', () => {
  it.each([0, 1, 100])('of %i rows goes out in one piece', async (total) => {
    const { body } = await toListBody({ total, rows: rows(total) }, ignore);
    expect(body).toBeTypeOf('string');
    expect(JSON.parse(body as string)).toHaveLength(total);
  });

  it('that the code itself has goes out as it is', async () => {
    expect(await toListBody(listingOf([{ id: 1 }]), ignore)).toEqual({ total: 1, body: '[{"id":1}]' });
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
    const { body } = await toListBody({ total: 5000, rows: rows(5000, 3000) }, { onError });
    await expect(text(body as ReadableStream)).rejects.toThrow('database gone');
    expect(onError).toHaveBeenCalledOnce();
  });

  it('says when it is long, and when it is over: read to its end, broken off by its reader, or failed', async () => {
    const told: string[] = [];
    const events = {
      onLong: () => void told.push('long'),
      onEnd: () => void told.push('end'),
      onError: () => void told.push('error'),
    };
    await toListBody({ total: 1, rows: rows(1) }, events);
    expect(told).toEqual([]);
    const whole = await toListBody({ total: 5000, rows: rows(5000) }, events);
    await text(whole.body as ReadableStream);
    const left = await toListBody({ total: 5000, rows: rows(5000) }, events);
    await (left.body as ReadableStream).cancel();
    const failing = await toListBody({ total: 5000, rows: rows(5000, 3000) }, events);
    await expect(text(failing.body as ReadableStream)).rejects.toThrow('database gone');
    expect(told).toEqual(['long', 'end', 'long', 'end', 'long', 'error', 'end']);
  });
});
