import { openAuditedDestination } from '../support/destinations/audit.ts';
import type { ResourceGenes, SpecGenes } from './genes.ts';
import { createSink, type Sink } from './sink.ts';

/** A row as two destinations are compared: without columns of the service, nulls and ignored fields. */
export type ComparedRow = Readonly<Record<string, unknown>>;

/** Where a connection of a story delivers. */
export interface StoryDestination extends AsyncDisposable {
  readonly name: string;
  /** The secret `target`: an address. */
  readonly address: string;
  /** Null: it is no database. */
  readonly query: (<Row extends Record<string, unknown>>(sql: string) => Promise<readonly Row[]>) | null;
  /** Null: it is no receiver. */
  readonly sink: Sink | null;
  /** The rows that are there, in mode append the latest versions, by external id. */
  rows(resource: ResourceGenes): Promise<ReadonlyMap<string, ComparedRow>>;
}

/** What a receiver of a story is reached by. */
export interface SinkPlace {
  /** Of the story's fake API. */
  readonly baseUrl: string;
  readonly sinks: Map<string, Sink>;
}

/** Opens an empty destination. */
export async function openDestination(
  name: string,
  kind: SpecGenes['destination'],
  place: SinkPlace,
): Promise<StoryDestination> {
  return kind === 'postgres' ? await openDatabase(name) : openReceiver(name, place);
}

function openReceiver(name: string, { baseUrl, sinks }: SinkPlace): StoryDestination {
  const sink = createSink();
  sinks.set(name, sink);
  return {
    name,
    address: `${baseUrl}/sink/${name}`,
    query: null,
    sink,
    rows: async (resource) =>
      new Map([...sink.rows(resource.key)].map(([id, row]) => [id, comparedRow(row, resource)])),
    [Symbol.asyncDispose]: async () => void sinks.delete(name),
  };
}

async function openDatabase(name: string): Promise<StoryDestination> {
  const database = await openAuditedDestination();
  return {
    name,
    address: database.url,
    query: database.query,
    sink: null,
    async rows(resource) {
      const { key, mode } = resource;
      const rows = new Map<string, ComparedRow>();
      const [table] = await database.query<{ readonly name: string | null }>(`select to_regclass('${key}') as name`);
      if (table?.name === null) return rows;
      const order = mode === 'append' ? 'order by _seq' : '';
      for (const row of await database.query<Record<string, unknown>>(`select * from ${key} ${order}`)) {
        const id = String(row['_external_id']);
        if (row['_deleted_at']) rows.delete(id);
        else rows.set(id, comparedRow(row, resource));
      }
      return rows;
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

function comparedRow(row: Readonly<Record<string, unknown>>, { change }: ResourceGenes): ComparedRow {
  const isOurs = (name: string): boolean =>
    name.startsWith('_') || name === 'of_the_customer' || (name === 'noise' && change.ignoresNoise);
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => !isOurs(name) && value !== null));
}
