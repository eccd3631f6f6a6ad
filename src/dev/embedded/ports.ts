import { createServer } from 'node:net';
import { hasCode } from '../../core/error-code.ts';

const portsTried = 50;

export function isPortFree(port: number, host: string): Promise<boolean> {
  const server = createServer();
  return new Promise((done, fail) => {
    server.once('error', (error) => {
      if (hasCode(error, 'EADDRINUSE')) done(false);
      else fail(error);
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => done(true)));
  });
}

/**
 * Tries 127.0.0.1 from the preferred port upwards.
 * @throws Error when a long row of ports is taken.
 */
export async function freePort(preferred: number): Promise<number> {
  for (let port = preferred; port < preferred + portsTried; port += 1) {
    if (await isPortFree(port, '127.0.0.1')) return port;
  }
  throw new Error(
    `The ports ${preferred} to ${preferred + portsTried - 1} of 127.0.0.1 are all taken: free one of them`,
  );
}
