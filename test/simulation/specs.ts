import * as v from 'valibot';
import { ConnectorSpec } from '../../src/core/spec/schema/spec-schema.ts';

/** The resources of a simulated connection. */
export const resourceKeys = ['changes', 'whole', 'parts'] as const;

/** The partitions of `parts`, in the order in which they are read. */
export const groups = ['a', 'b', 'c'] as const;

/** Version 2 has another transform, so a connection that is upgraded delivers every record again. */
export const versions = ['1.0.0', '2.0.0'] as const;

/** The specs of a simulation by version. `order`: how the API's pages of changes are sorted. */
export function specsOf(order: 'asc' | 'none'): ReadonlyMap<string, ConnectorSpec> {
  return new Map(versions.map((version) => [version, v.parse(ConnectorSpec, specOf(version, order))]));
}

const specOf = (version: string, order: 'asc' | 'none') => ({
  metadata: { key: 'simulated', name: 'Simulated', version },
  auth: { kind: 'none' },
  http: { baseUrl: 'https://api.test', query: { limit: '{{ page.size }}' } },
  resources: [
    {
      ...commonOf('changes', version),
      request: { path: '/changes', query: { since: '{{ window.from }}', order } },
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'epoch_ms' }, order },
    },
    {
      ...commonOf('whole', version),
      request: { path: '/whole' },
      deletes: { mode: 'full_scan', effect: 'hard', maxRatio: 1, minRecords: 0 },
    },
    {
      ...commonOf('parts', version),
      forEach: [{ as: 'group', values: `{{ ${JSON.stringify(groups)} }}` }],
      request: { path: '/parts/{{ each.group }}', query: { since: '{{ window.from }}', order } },
      incremental: { kind: 'cursor', cursor: { field: 'at', type: 'epoch_ms' }, order },
      errors: [{ when: { status: [404] }, action: 'skip_partition', message: 'No such group' }],
      deletes: {
        mode: 'endpoint',
        request: { path: '/deleted/{{ each.group }}' },
        records: 'data',
        key: 'id',
        effect: 'hard',
      },
    },
  ],
});

const commonOf = (key: string, version: string) => ({
  key,
  primaryKey: 'id',
  response: { records: 'data' },
  pagination: {
    kind: 'cursor',
    size: 8,
    next: 'body.next',
    inject: { in: 'query', name: 'after' },
    shrink: { when: { status: [413] }, min: 2 },
  },
  transform: `{ "id": id, "version": version, "name": name${version === '1.0.0' ? '' : ', "spec": 2'} }`,
  validate: {
    schema: { type: 'object', properties: { name: { type: 'string' } } },
  },
  onInvalid: 'quarantine',
});
