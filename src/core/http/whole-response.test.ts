import { setImmediate as nextTurn } from 'node:timers/promises';
import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { serveRaw } from '../../../test/support/upstream/guarded-client.ts';
import { anyMemory, type ResponseMemory } from '../model/response-memory.ts';
import { requestWhole } from './whole-response.ts';

const { signal } = new AbortController();
const limits = { signal, bytesMax: 10_000_000, tooLarge: () => new Error('too large'), memory: anyMemory };
const get = (origin: string) => ({
  origin,
  path: '/',
  method: 'GET' as const,
  headersTimeout: 5_000,
  bodyTimeout: 5_000,
});

/** What a server that responds to every request with `text` is understood to say. */
async function responseOf(text: string, memory: Pick<ResponseMemory, 'open'> = anyMemory) {
  await using server = await serveRaw((socket) => void socket.once('data', () => socket.end(text)));
  await using agent = disposable(new Agent());
  return await requestWhole(agent.agent, get(server.origin), { ...limits, memory });
}

/** A memory, and what is held of it now and was at most. */
function memoryOf(bytesMax: number) {
  const state = { now: 0, most: 0 };
  const memory: Pick<ResponseMemory, 'open'> = {
    open: () => ({
      hold(bytes) {
        if (bytes > bytesMax) throw new Error('no memory');
        state.now = bytes;
        state.most = Math.max(state.most, bytes);
      },
      release() {
        state.now = 0;
      },
    }),
  };
  return { memory, state };
}

const disposable = (agent: Agent) => ({ agent, [Symbol.asyncDispose]: () => agent.destroy() });

describe('a whole response', () => {
  it('is put together from its chunks', async () => {
    const chunks = ['ab', 'c', 'defg'].map((chunk) => `${chunk.length}\r\n${chunk}\r\n`).join('');
    const { status, headers, body } = await responseOf(
      `HTTP/1.1 201 Created\r\nX-One: 1\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    expect({ status, one: headers['x-one'], body: body.toString() }).toEqual({
      status: 201,
      one: '1',
      body: 'abcdefg',
    });
  });

  it('may have no body', async () => {
    const { status, body } = await responseOf('HTTP/1.1 304 Not Modified\r\n\r\n');
    expect({ status, bytes: body.length }).toEqual({ status: 304, bytes: 0 });
  });

  it('is the last one, whatever was said in advance', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nx-early: 1\r\n\r\n';
    const { status, headers } = await responseOf(`${early}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
    expect({ status, early: headers['x-early'] }).toEqual({ status: 200, early: undefined });
  });

  it('is none when its body is cut short', async () => {
    await expect(responseOf('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')).rejects.toThrow('other side closed');
  });

  it('is held in memory when it is not light, and given back when it fails', async () => {
    const large = 'x'.repeat(5_000_000);
    const whole = memoryOf(10_000_000);
    const { held } = await responseOf(`HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n${large}`, whole.memory);
    expect(whole.state.now).toBeGreaterThanOrEqual(4_000_000 - 65_536);
    held.release();
    expect(whole.state.now).toBe(0);

    const cut = memoryOf(10_000_000);
    const short = responseOf(`HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n${large}`, cut.memory);
    await expect(short).rejects.toThrow('other side closed');
    expect(cut.state).toEqual({ now: 0, most: expect.any(Number) });
    expect(cut.state.most).toBeGreaterThanOrEqual(2_000_000);

    const full = memoryOf(3_000_000);
    const refused = responseOf(`HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n${large}`, full.memory);
    await expect(refused).rejects.toThrow('no memory');
    expect(full.state.now).toBe(0);
  });

  it('holds nothing when it is light', async () => {
    const { memory, state } = memoryOf(0);
    await responseOf('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', memory);
    expect(state.most).toBe(0);
  });

  it('is not waited for once the signal is given, be it before there is a connection', async () => {
    const stop = new AbortController();
    const connect = Promise.withResolvers<void>();
    await using agent = disposable(new Agent({ connect: () => connect.resolve() }));
    const response = requestWhole(agent.agent, get('http://api.test'), { ...limits, signal: stop.signal });
    await connect.promise;
    stop.abort(new Error('no longer wanted'));
    await expect(response).rejects.toThrow('no longer wanted');
  });

  it('is not requested after the signal is aborted, so that others can use the connection', async () => {
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    await using server = await serveRaw((socket) => void socket.on('data', () => socket.write(ok)));
    await using agent = disposable(new Agent());
    await requestWhole(agent.agent, get(server.origin), limits);
    // The connection is free again one turn after the response.
    await nextTurn();
    const given = { ...limits, signal: AbortSignal.abort(new Error('no longer wanted')) };
    await expect(requestWhole(agent.agent, get(server.origin), given)).rejects.toThrow('no longer wanted');
    const { body } = await requestWhole(agent.agent, get(server.origin), limits);
    expect([body.toString(), server.connections()]).toEqual(['ok', 1]);
  });

  it('ends with its connection when the signal is given in the middle of it', async () => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    await using server = await serveRaw((socket) => {
      socket.once('close', closed.resolve);
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', () => stop.abort(new Error('stop'))),
      );
    });
    await using agent = disposable(new Agent());
    await expect(requestWhole(agent.agent, get(server.origin), { ...limits, signal: stop.signal })).rejects.toThrow(
      'stop',
    );
    await closed.promise;
  });
});
