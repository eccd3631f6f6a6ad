import { cursorField } from './cursors.ts';
import { type CursorGenes, collectionOf, type EachGenes, type ResourceGenes, type SpecGenes } from './genes.ts';

type Json = Readonly<Record<string, unknown>>;

/** Where a story's API is, and the name of its spec. */
export interface SpecPlace {
  readonly key: string;
  readonly baseUrl: string;
}

/** The spec document of the genes. */
export const documentOf = (
  { resources, table, destination, onBehind }: SpecGenes,
  version: string,
  { key, baseUrl }: SpecPlace,
): Json => ({
  metadata: { key, name: key, version },
  connectionParams: [
    { key: 'area', type: 'string' },
    { key: 'currency', type: 'string' },
    { key: 'groups', type: 'string_list' },
    { key: 'start', type: 'string' },
    { key: 'token', type: 'string', secret: true },
    { key: 'target', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  http: { baseUrl, rateLimit: { requests: 1_000_000, perSeconds: 1 }, retry: { baseMs: 5, maxAttempts: 2 } },
  lookups: [
    ...(resources.some(({ shape }) => shape.transforms && shape.table) ? [tableOf(table)] : []),
    ...(resources.some(({ shape }) => shape.transforms && shape.lookup) ? [usersOf(resources)] : []),
  ],
  resources: resources.map(resourceOf),
  destination:
    destination === 'postgres'
      ? { kind: 'postgres', url: '{{ secrets.target }}', ssl: 'disable', onBehind }
      : {
          kind: 'webhook',
          url: '{{ secrets.target }}',
          signingSecret: 'whsec_c3Rvcnktc3Rvcnktc3Rvcnktc3Rvcnk=',
          batchSize: 3,
        },
});

const tableOf = (version: number): Json => ({
  assignTo: 'kinds',
  kind: 'static',
  table: { open: `O${version}`, done: `D${version}`, test: `T${version}` },
});

/** Kept for an hour only where no resource asks for its changes. */
const usersOf = (resources: readonly ResourceGenes[]): Json => ({
  assignTo: 'users',
  kind: 'request',
  request: { path: '/users' },
  keyBy: 'id',
  cache: resources.some(({ change }) => change.watchesLookup)
    ? { scope: 'run' }
    : { scope: 'connection', ttlSeconds: 3600 },
});

function resourceOf(genes: ResourceGenes): Json {
  const { key, cursor, token, wideKey, pages, bare, lenient, each, validate, onInvalid, change, mode } = genes;
  return {
    key,
    primaryKey: wideKey ? ['id', 'owner'] : 'id',
    ...(each && { forEach: [eachOf(each)] }),
    request: requestOf(genes),
    response: {
      records: bare ? '$' : 'data',
      ...(lenient && { recordsMissing: 'empty' }),
      ...(pages.kind === 'page' && pages.counts && { total: 'body.total' }),
    },
    pagination: paginationOf(pages),
    ...(cursor && { incremental: incrementalOf(cursor) }),
    ...(token && { incremental: { kind: 'token', next: 'body.sync_token' } }),
    ...(genes.filter !== 'none' && { filter: genes.filter === 'status' ? "status != 'test'" : 'price < 60' }),
    ...(genes.plan && { enrich: [planOf(genes.plan)] }),
    ...(key === 'prices' && { transform: "{ 'id': id, 'bonus': price * 2 }" }),
    ...(genes.shape.transforms && key !== 'prices' && { transform: transformOf(genes) }),
    ...(validate !== 'none' && { validate: { schema: schemaOf(validate === 'strict' ? 0 : -1000) } }),
    onInvalid,
    changeDetection: {
      mode: change.mode,
      ...(change.mode === 'field' && { field: 'rev' }),
      ...(change.ignoresNoise && { ignore: ['noise'] }),
      ...(change.watchesLookup &&
        genes.shape.lookup &&
        genes.shape.transforms &&
        key !== 'prices' && { lookups: ['users'] }),
    },
    deletes: deletesOf(genes),
    target: { mode, ...(key === 'prices' && { table: 'items' }) },
  };
}

const eachOf = ({ from, select, size }: EachGenes): Json => {
  const group = size === null ? {} : { group: { size, join: ',' } };
  if (from === 'values') return { as: 'part', values: '{{ params.groups }}', ...group };
  return { as: 'part', resource: 'parents', from, select, ...(size !== null && { value: 'id' }), ...group };
};

/** What the request of a partition sends for it. */
const partOf = ({ from, size }: EachGenes): string =>
  from === 'values' || size !== null ? '{{ each.part }}' : '{{ each.part.id }}';

function requestOf({ key, cursor, token, each, byArea, bare, pages, cache }: ResourceGenes): Json {
  return {
    path: `/list/${collectionOf(key)}`,
    query: {
      limit: '{{ page.size }}',
      ...(byArea && { area: '{{ params.area }}' }),
      ...(each && { [each.from === 'values' ? 'group' : 'parent']: partOf(each) }),
      ...(each?.sendsRegion && { region: '{{ each.part.region }}' }),
      ...(cursor && { by: cursor.field, ...(cursor.order !== 'none' && { dir: cursor.order }) }),
      ...(cursor && !cursor.clientFilter && { since: '{{ window.from }}' }),
      ...(cursor?.window && { until: '{{ window.to }}' }),
      ...(token && { token: '{{ watermark }}', tokens: 'yes', by: 'seq', dir: 'asc' }),
      ...(bare && { bare: 'yes' }),
      ...(pages.sparse && { sparse: 'yes' }),
    },
    ...(cache !== 'none' && { cache: cache === 'ttl' ? { mode: 'ttl', ttlSeconds: 1 } : { mode: cache } }),
  };
}

function paginationOf({ kind, size, counts, overlap }: ResourceGenes['pages']): Json {
  const inject = (name: string): Json => ({ size, inject: { in: 'query', name } });
  switch (kind) {
    case 'none':
      return { kind };
    case 'page':
      return { kind, ...inject('page'), ...(counts && { totalPages: 'body.pages' }) };
    case 'offset':
      return {
        kind,
        ...inject('offset'),
        ...(counts && { total: 'body.total' }),
        ...(overlap !== null && { overlap }),
      };
    case 'cursor':
      return { kind, next: 'body.next', ...inject('cursor') };
    case 'next_url':
      return { kind, next: 'body.next_url', size };
    case 'link_header':
      return { kind, size };
    case 'keyset':
      return { kind, field: 'id', ...inject('after') };
  }
}

const incrementalOf = (genes: CursorGenes): Json => {
  const { field, timezone, order, settle, initial, window, lookback, clientFilter } = genes;
  const { type, format } = cursorField(field);
  return {
    kind: 'cursor',
    cursor: {
      ...{ field, type },
      ...(format !== undefined && { format }),
      ...(timezone !== null && { timezone }),
      ...(clientFilter && order === 'desc' && { missing: 'exclude' }),
    },
    order,
    settle,
    ...(initial !== 'none' && { initial: initial === 'param' ? '{{ params.start }}' : initial }),
    ...(window !== null && { window: { size: window } }),
    ...(lookback > 0 && { lookback }),
    ...(clientFilter && { clientFilter }),
  };
};

const planOf = ({ onError, batch }: NonNullable<ResourceGenes['plan']>): Json => ({
  assignTo: 'plan',
  key: 'record.plan',
  ...(batch
    ? {
        request: { path: '/plans', query: { ids: "{{ $join(batch.keys, ',') }}" } },
        batch: { size: 3, results: 'results', keyBy: 'id' },
      }
    : { request: { path: '/plans/{{ key }}' } }),
  onError,
});

/** The object that a record becomes. */
function transformOf({ shape, plan }: ResourceGenes): string {
  const parts = [
    ...['id', 'rev', 'name', 'note', 'price', 'status'].map((field) => `'${field}': ${field}`),
    ...(shape.currency ? ["'cost': $string(price) & ' ' & $params.currency"] : []),
    ...(shape.table ? ["'kind': $lookup($lookups.kinds, status)"] : []),
    ...(shape.parentName ? ["'parent_name': $each.part.name"] : []),
    ...(shape.lookup ? ["'owner_email': $lookup($lookups.users, owner).email"] : []),
    ...(plan ? ["'plan_name': $lookups.plan.name"] : []),
    ...(shape.wide ? ["'group': group", "'area': area"] : []),
  ];
  return `{ ${parts.join(', ')} }`;
}

const schemaOf = (minimum: number): Json => ({
  type: 'object',
  required: ['id'],
  properties: { price: { type: 'number', minimum } },
});

const brakes = { default: {}, tight: { maxRatio: 0.3, minRecords: 2 }, off: { maxRatio: 1, minRecords: 0 } };

function deletesOf({ key, cursor, deletes, each }: ResourceGenes): Json {
  const { mode, scope, effect, brake, confirm, listed } = deletes;
  if (mode === 'none') return { mode };
  if (mode === 'flag') return { mode, when: "status = 'deleted'", effect, ...brakes[brake] };
  if (mode === 'full_scan') return { mode, scope, effect, confirm, ...brakes[brake] };
  return {
    mode,
    request: {
      path: `/deleted/${collectionOf(key)}`,
      query: { ...(each && { place: partOf(each) }), ...(listed !== 'gone' && { ever: 'yes' }) },
    },
    records: 'data',
    key: 'id',
    // Times are written as the cursor is.
    ...(listed === 'ever, with times' && cursor?.field === 'modified' && { at: 'deleted_at' }),
    effect,
    ...brakes[brake],
  };
}
