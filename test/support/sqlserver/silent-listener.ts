import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** Listens and then never accepts: its thread stands still. */
const code = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer();
  server.listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage('listening');
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });`;

/**
 * A place that says nothing to whoever connects to it, as a passive node behind a listener does: neither yes nor no. Its
 * queue is full. Linux only, since others refuse then.
 */
export async function startSilentListener(at: {
  readonly host: string;
  readonly port: number;
}): Promise<AsyncDisposable> {
  const worker = new Worker(code, { eval: true, workerData: at });
  await once(worker, 'message');
  const queued: Socket[] = [];
  while (await isAccepted(at, queued)) await delay(1);
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}

/** Whether one more connection gets into the queue. */
async function isAccepted(at: { readonly host: string; readonly port: number }, queued: Socket[]): Promise<boolean> {
  const socket = connect(at).on('error', () => undefined);
  queued.push(socket);
  return await Promise.race([once(socket, 'connect').then(() => true), delay(200, false)]);
}
