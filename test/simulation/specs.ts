import * as v from 'valibot';
import { digestOf } from '../../src/core/crypto/digest.ts';
import { ConnectorSpec } from '../../src/core/spec/schema/spec-schema.ts';

/** The resources of a simulated connection. */
export const resourceKeys = ['changes', 'whole', 'parts', 'grouped', 'reports'] as const;

/** The groups of records: partitions of `parts`, in the order in which they are read; those of `grouped` have two. */
export const groups = ['a', 'b', 'c'] as const;

const keyOfGroup = (values: readonly string[]): string => `group:${digestOf(JSON.stringify(values))}`;

/** The groups in a partition, by the key of the partition. */
export const groupsIn = new Map<string, readonly string[]>([
  ['', groups],
  ...groups.map((group): [string, readonly string[]] => [group, [group]]),
  ...[...groups.map((group) => [group]), ['a', 'b'], ['a', 'c'], ['b', 'c']].map(
    (values): [string, readonly string[]] => [keyOfGroup(values), values],
  ),
]);

/** Version 2 has another transform, so a connection that is upgraded delivers every record again. */
export const versions = ['1.0.0', '2.0.0'] as const;

/** When the API's oldest records were made, at the earliest, ms. */
export const initialAt = Date.UTC(2025, 11, 29);

/** How a seed reads. */
export interface Reading {
  /** How the API's pages of changes are sorted. */
  readonly order: 'asc' | 'none';
  readonly settle: 'PT0S' | 'PT30S';
  /** `changes` is read from a cursor on; whole, in pages with numbers, several at once; or by windows, which are split. */
  readonly changes: 'cursor' | 'numbered' | 'windows';
  /** Of `reports`: a read has several of a day each, and one of a week. */
  readonly window: 'P1D' | 'P7D';
  /** What shows that a report has no records: the list of its files, the poll, or the response to its only request. */
  readonly report: 'parts' | 'counted' | 'bare';
  /** Whether lists are requested with the validators of the last response. */
  readonly cache: 'conditional' | 'none';
}

/** The specs of a simulation by version. */
export function specsOf(reading: Reading): ReadonlyMap<string, ConnectorSpec> {
  return new Map(versions.map((version) => [version, v.parse(ConnectorSpec, specOf(version, reading))]));
}

const specOf = (version: string, { changes, order, settle, window, report, cache: mode }: Reading) => ({
  metadata: { key: 'simulated', name: 'Simulated', version },
  auth: { kind: 'none' },
  http: { baseUrl: 'https://api.test', query: { limit: '{{ page.size }}' } },
  resources: [
    {
      ...commonOf('changes', version),
      deletes: { mode: 'flag', when: 'gone', effect: 'hard', maxRatio: 1 },
      ...changesBy({ order, settle, cache: mode })[changes],
    },
    {
      ...commonOf('whole', version),
      request: { path: '/whole', cache: { mode } },
      deletes: { mode: 'full_scan', effect: 'hard', maxRatio: 1, minRecords: 0 },
    },
    {
      ...commonOf('parts', version),
      forEach: [{ as: 'group', values: `{{ ${JSON.stringify(groups)} }}` }],
      request: { path: '/parts/{{ each.group }}', query: { since: '{{ window.from }}', order }, cache: { mode } },
      incremental: { kind: 'cursor', cursor, order, settle },
      errors: [{ when: { status: [404] }, action: 'skip_partition', message: 'No such group' }],
      deletes: {
        mode: 'endpoint',
        request: { path: '/deleted/{{ each.group }}', cache: { mode } },
        records: 'data',
        key: 'id',
        effect: 'hard',
      },
    },
    {
      ...commonOf('grouped', version),
      forEach: [{ as: 'groups', values: '{{ params.groups }}', group: { size: 2, join: ',' } }],
      request: {
        path: '/grouped',
        query: { groups: '{{ each.groups }}', fields: '{{ chunk.fields }}', since: '{{ window.from }}', order },
        cache: { mode },
      },
      fieldChunks: { fields: ['name', 'twin'], always: ['id', 'version', 'at'], size: 1, join: ',' },
      incremental: { kind: 'cursor', cursor, order, settle },
      // A record whose parts are of two versions is neither of them.
      transform: transformOf(version, 'name = twin ? version : version + 0.5'),
    },
    {
      ...commonOf('reports', version),
      request: {
        path: '/files/{{ job.address }}',
        query: report === 'parts' ? { file: '{{ job.part }}' } : {},
      },
      job: {
        create: {
          method: 'POST',
          path: '/jobs',
          headers: { 'idempotency-key': '{{ job.key }}' },
          body: { json: { from: '{{ window.from }}', to: '{{ window.to }}' } },
        },
        id: 'body.id',
        poll: { path: '/jobs/{{ job.id }}' },
        status: 'body.status',
        completed: ['done'],
        failed: ['failed'],
        values: { address: 'body.address' },
        ...(report === 'parts' && { parts: 'body.files' }),
        ...(report === 'counted' && { emptyWhen: 'body.count = 0' }),
        intervalSeconds: 1,
        timeoutSeconds: 20,
      },
      pagination: { ...pagination, onExpired: { status: [410], action: 'restart_window' } },
      incremental: { kind: 'cursor', cursor, order: 'none', settle, initial: initialAt, window: { size: window } },
      errors: [{ when: { status: [204] }, action: 'empty' }],
    },
  ],
});

/** Records that the API shows of a window at most. */
export const windowRecordsMax = 8;

const changesBy = ({ order, settle, cache: mode }: Pick<Reading, 'order' | 'settle' | 'cache'>) => {
  const query = { since: '{{ window.from }}', order };
  const incremental = { kind: 'cursor', cursor, order, settle };
  return {
    cursor: { request: { path: '/changes', query, cache: { mode } }, incremental },
    numbered: { request: { path: '/changes', cache: { mode } }, pagination: numbered },
    windows: {
      request: { path: '/changes', query: { ...query, until: '{{ window.to }}' }, cache: { mode } },
      response: { records: 'data', total: 'total' },
      incremental: {
        ...incremental,
        initial: initialAt,
        window: { size: 'P7D' },
        resultCap: { records: windowRecordsMax },
      },
    },
  };
};

const cursor = { field: 'at', type: 'epoch_ms' };

const pagination = {
  kind: 'cursor',
  size: 8,
  next: 'body.next',
  inject: { in: 'query', name: 'after' },
  shrink: { when: { status: [413] }, min: 2 },
};

const numbered = {
  kind: 'page',
  size: 8,
  inject: { in: 'query', name: 'page' },
  totalPages: 'body.pages',
  shrink: pagination.shrink,
};

const transformOf = (specVersion: string, version: string) =>
  `{ "id": id, "version": ${version}, "name": name${specVersion === '1.0.0' ? '' : ', "spec": 2'} }`;

const commonOf = (key: string, version: string) => ({
  key,
  primaryKey: 'id',
  response: { records: 'data' },
  pagination,
  transform: transformOf(version, 'version'),
  validate: {
    schema: { type: 'object', properties: { name: { type: 'string' } } },
  },
  onInvalid: 'quarantine',
});
