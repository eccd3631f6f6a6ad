import type { JsonObject } from '../../../src/core/json/json-object.ts';
import type { QuarantineRow } from '../../../src/core/resources/quarantine.ts';
import type { RunRow } from '../../../src/core/resources/run.ts';
import type { SpecUpgrade } from '../../../src/core/resources/spec.ts';
import { eventually } from '../service/eventually.ts';
import type { Service } from '../service/stack.ts';
import { type Customer, connectCustomer, intoDatabase } from './customer.ts';

/** A customer's connection of several resources, and what can be asked of the service about it. */
export interface Account extends Customer {
  /** The path is below that of the connection. Throws on an error. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a response of the API, whose fields tests compare
  ask(method: string, path: string, body?: unknown): Promise<any>;
  /** Requests a sync; its run. */
  request(resource: string): Promise<string>;
  /** Resolves with the final row. */
  ended(runId: string): Promise<RunRow>;
  /** Requests a backfill and resolves with its final row. */
  backfill(resource: string, options?: JsonObject): Promise<RunRow>;
  /** Publishes the resources, and other parts of the spec, as another version and pins the connection to it. */
  upgrade(version: string, resources: readonly JsonObject[], spec?: JsonObject): Promise<SpecUpgrade>;
  /** Rows of a table by id, without those columns of our own that are not asked for. */
  rows(table: string, own?: readonly string[]): Promise<readonly JsonObject[]>;
  /** External ids of the rows of a table, those of a soft delete left out. */
  live(table: string): Promise<readonly string[]>;
  /** Watermarks by partition of a resource. */
  watermarks(resource: string): Promise<JsonObject>;
  quarantine(): Promise<readonly QuarantineRow[]>;
}

/** What a test decides. */
export interface AccountOptions {
  /** Of the spec: lower case, digits, `-`. */
  readonly key: string;
  readonly baseUrl: string;
  /** Each with `key` at least: its path is `/{key}` and its table `key` unless it says otherwise. */
  readonly resources: readonly JsonObject[];
  /** Further options of the destination. */
  readonly destination?: JsonObject;
  /** Parts of the spec besides its resources. */
  readonly spec?: JsonObject;
  /** Further parts of its `http`. */
  readonly http?: JsonObject;
  /** Values of params, all of them lists of strings. */
  readonly params?: JsonObject;
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Publishes a spec without limits and with short waits, and activates a connection of it. */
export async function openAccount(stack: Service, options: AccountOptions): Promise<Account> {
  const { call } = stack.org;
  const { params = {}, secrets = {} } = options;
  const document = (version: string, resources: readonly JsonObject[], spec = options.spec ?? {}) =>
    specOf({ ...options, resources, spec }, version);
  const customer = await connectCustomer(stack, {
    document: document('1.0.0', options.resources),
    destinationOptions: options.destination ?? {},
    params,
    secrets,
  });
  const { connectionId, destination } = customer;
  const send = async (method: string, path: string, body?: unknown) => {
    const reply = await call(method, path, { body });
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const ask: Account['ask'] = (method, path, body) => send(method, `/connections/${connectionId}${path}`, body);
  const ended = (runId: string): Promise<RunRow> =>
    eventually(
      `run ${runId} ends`,
      async () => {
        const run: RunRow = await send('GET', `/runs/${runId}`);
        return run.finishedAt !== null && run;
      },
      { timeoutMs: 120_000 },
    );
  return {
    ...customer,
    ask,
    ended,
    request: async (resource) => (await ask('POST', '/sync', { resource })).id,
    backfill: async (resource, body) => await ended((await ask('POST', '/backfill', { resource, ...body })).id),
    async upgrade(version, resources, spec) {
      await send('POST', '/specs', intoDatabase(document(version, resources, spec), options.destination));
      await send('POST', `/specs/${options.key}/versions/${version}/publish`);
      return await ask('POST', '/upgrade-spec', { toVersion: version });
    },
    async rows(table, own = []) {
      const rows = await destination.query<Record<string, unknown>>(`select * from ${table} order by _external_id`);
      const isWanted = ([column]: readonly [string, unknown]) => !column.startsWith('_') || own.includes(column);
      return rows.map((row) => Object.fromEntries(Object.entries(row).filter(isWanted)));
    },
    async live(table) {
      const rows = await destination.query<{ id: string }>(
        `select _external_id as id from ${table} where _deleted_at is null order by _external_id`,
      );
      return rows.map(({ id }) => id);
    },
    async watermarks(resource) {
      const rows = await stack.db
        .selectFrom('partitions')
        .innerJoin('lanes', 'lanes.id', 'partitions.laneId')
        .select(['partition', 'watermark'])
        .where('connectionId', '=', connectionId)
        .where('resourceKey', '=', resource)
        .execute();
      return Object.fromEntries(rows.map(({ partition, watermark }) => [partition, watermark]));
    },
    quarantine: () => send('GET', `/quarantine?connectionId=${connectionId}`),
  };
}

const specOf = (
  { key, baseUrl, resources, params = {}, secrets = {}, spec = {}, http = {} }: AccountOptions,
  version: string,
) => ({
  ...spec,
  metadata: { key, name: key, version },
  connectionParams: [
    ...Object.keys(params).map((param) => ({ key: param, type: 'string_list' })),
    ...Object.keys(secrets).map((secret) => ({ key: secret, type: 'string', secret: true })),
  ],
  http: { baseUrl, rateLimit: { requests: 1_000_000, perSeconds: 1 }, retry: { baseMs: 10, maxAttempts: 2 }, ...http },
  resources: resources.map((resource) => ({
    primaryKey: 'id',
    request: { path: `/${String(resource['key'])}` },
    ...resource,
  })),
});
