import type { DeliveryKind, DeliveryPlace } from '../destinations/destination-kind.ts';
import { startLaneServer } from './lane.ts';
import { connectFake } from './script.ts';
import type { TdsRow } from './tds-tokens.ts';

/** SQL Server under the suite of what every kind promises, where the tests have no server. */
export const laneKind: DeliveryKind = { name: 'sqlserver', createPlace: createLanePlace };

/** A server of its own that remembers deliveries. */
async function createLanePlace(): Promise<DeliveryPlace> {
  const server = await startLaneServer();
  return {
    schema: 'shop',
    connect: (deps) => connectFake(server, {}, deps),
    async rows(table) {
      const rows = server.rows(table);
      // A column that came later is null in the rows before.
      const columns = new Set(rows.flatMap((row) => Object.keys(row)));
      return rows.map((row) => Object.fromEntries([...columns].map((name) => [name, textOf(row[name])])));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const textOf = (value: TdsRow[string] | undefined): string | null =>
  value === undefined || value === null ? null : String(value);
