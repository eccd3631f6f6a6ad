import { get } from 'node:http';
import { createServer } from 'node:net';
import type { TelemetryOptions } from '@temporalio/worker';

const readMs = 2000;

/**
 * A loopback address for Temporal's exporter, which takes no port 0 and does not report its port. The port is unreserved
 * until the exporter binds it, a moment later.
 */
export async function freeCoreAddress(): Promise<string> {
  const server = createServer();
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('The probe for a port does not listen on one.');
  return `127.0.0.1:${address.port}`;
}

/** Empty without an address; names and units are those of Prometheus. */
export const coreMetrics = (address: string | null): Pick<TelemetryOptions, 'metrics'> =>
  address === null
    ? {}
    : {
        metrics: {
          attachServiceName: false,
          prometheus: {
            bindAddress: address,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
          },
        },
      };

/** Empty when Temporal's exporter does not respond, so that a scrape still shows everything else. */
export function readCoreMetrics(address: string): Promise<string> {
  return new Promise((done) => {
    const request = get(`http://${address}/metrics`, { agent: false, timeout: readMs }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', () => done(''));
      response.on('end', () => done(response.statusCode === 200 ? text : ''));
    });
    request.once('error', () => done(''));
    request.once('timeout', () => request.destroy());
  });
}
