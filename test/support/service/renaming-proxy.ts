import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** BackendKeyData: its length, and then the process that executes, which a pooler does not know ahead. */
const keyData = Buffer.from([0x4b, 0, 0, 0, 12]);

/** A proxy that announces another process than the one that executes, as poolers do. */
export const startRenamingProxy = (port: number): Promise<TcpProxy> => startTcpProxy(port, { tamper: rename });

function rename(chunk: Buffer): Buffer {
  const at = chunk.indexOf(keyData);
  if (at !== -1) chunk.writeInt32BE(1, at + keyData.length);
  return chunk;
}
