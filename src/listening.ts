import type { Server } from 'node:http';
import { hasCode } from './core/error-code.ts';

export interface Place {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly variable: 'PORT' | 'METRICS_PORT' | 'WORKER_HEALTH_PORT';
}

/** If the port or address is unavailable, rejects with the change that the operator has to make. */
export async function listening(server: Server, { host, port, variable }: Place): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error) => reject(explained(error, { host, port, variable })));
  server.listen(port, host, resolve);
  await promise;
}

function explained(cause: Error, { host, port, variable }: Place): Error {
  if (hasCode(cause, 'EADDRINUSE')) {
    return new Error(
      `${variable}: another process has port ${port} of ${host} (EADDRINUSE). Each process of a machine needs a port of its own.`,
      { cause },
    );
  }
  if (hasCode(cause, 'EACCES')) {
    return new Error(`${variable}: this user may not listen on port ${port} (EACCES). Set one above 1023.`, { cause });
  }
  if (hasCode(cause, 'EADDRNOTAVAIL', 'ENOTFOUND')) {
    return new Error(`HOST: this machine has no address ${host}, so ${variable} cannot listen on it.`, { cause });
  }
  return cause;
}
