import { get } from 'node:http';
import { createServer } from 'node:net';
import type { TelemetryOptions } from '@temporalio/worker';

/** The milliseconds that a scrape waits for Temporal's part. */
const readMs = 2000;

/**
 * An address on loopback at which Temporal's exporter can listen: it takes no port 0, and does not say which port it has.
 * Nothing holds the port until the exporter binds it, a moment later.
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

/** The telemetry options of Temporal's `Runtime` that let it measure; none without an address. Names and units as Prometheus has them. */
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

/** What Temporal's exporter prints; empty when it does not respond, so that a scrape still shows everything else. */
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
