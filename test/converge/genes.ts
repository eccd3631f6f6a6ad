import type { Random } from '../simulation/random.ts';
import type { CursorName } from './cursors.ts';
import type { Collection } from './records.ts';

/** The resources of specs; `prices` updates rows of `items`. */
export const resourceKeys = ['items', 'prices', 'parents', 'children'] as const;
export type ResourceKey = (typeof resourceKeys)[number];

/** The list of the API that a resource reads. */
export const collectionOf = (key: ResourceKey): Collection => (key === 'prices' ? 'items' : key);

/** How a resource reads by a cursor. */
export interface CursorGenes {
  readonly field: CursorName;
  /** Of `local`: the right zone, or one in which it is behind. */
  readonly timezone: 'Europe/Berlin' | 'Asia/Tokyo' | null;
  readonly order: 'asc' | 'desc' | 'none';
  readonly settle: 'PT0S' | 'PT2S' | 'PT30S';
  readonly initial: 'none' | 'param' | 'now-P7D';
  readonly window: 'P2D' | null;
  /** Of `seq`: how many values below the watermark are read again. */
  readonly lookback: 0 | 3;
  readonly clientFilter: boolean;
}

/** The partitions of a resource. */
export interface EachGenes {
  /** A list in the params, or the records of `parents`. */
  readonly from: 'values' | 'store' | 'live';
  readonly select: 'all' | 'changed';
  readonly size: number | null;
  /** Whether the request has the region of the parent, too. */
  readonly sendsRegion: boolean;
}

/** What the transform of a resource uses. */
interface ShapeGenes {
  /** False: no transform. */
  readonly transforms: boolean;
  readonly currency: boolean;
  readonly table: boolean;
  readonly parentName: boolean;
  readonly lookup: boolean;
  readonly wide: boolean;
}

/** One resource of a random spec. */
export interface ResourceGenes {
  readonly key: ResourceKey;
  readonly cursor: CursorGenes | null;
  /** Reads what changed since a token. */
  readonly token: boolean;
  /** One field, or two, so that external ids have another form. */
  readonly wideKey: boolean;
  readonly pages: {
    readonly kind: 'none' | 'page' | 'offset' | 'cursor' | 'next_url' | 'link_header' | 'keyset';
    readonly size: number;
    readonly counts: boolean;
    /** Of pages with tokens or links: behind each comes one without items. */
    readonly sparse: boolean;
    readonly overlap: number | null;
  };
  readonly bare: boolean;
  /** A response without a list counts as one without records. */
  readonly lenient: boolean;
  readonly byArea: boolean;
  readonly deletes: {
    readonly mode: 'none' | 'flag' | 'full_scan' | 'endpoint';
    readonly scope: 'resource' | 'partition';
    readonly effect: 'soft' | 'hard';
    readonly brake: 'default' | 'tight' | 'off';
    /** How many reads in a row must lack a record. */
    readonly confirm: 1 | 2;
    /** Of `endpoint`: records that were created again stay listed, with the time of their deletion or without. */
    readonly listed: 'gone' | 'ever' | 'ever, with times';
  };
  readonly each: EachGenes | null;
  readonly cache: 'none' | 'conditional' | 'ttl';
  readonly filter: 'none' | 'status' | 'price';
  readonly shape: ShapeGenes;
  readonly plan: { readonly onError: 'null' | 'fail' | 'quarantine'; readonly batch: boolean } | null;
  readonly validate: 'none' | 'strict' | 'loose';
  readonly onInvalid: 'fail' | 'quarantine' | 'skip';
  readonly change: {
    readonly mode: 'hash' | 'field' | 'none';
    readonly ignoresNoise: boolean;
    readonly watchesLookup: boolean;
  };
  readonly mode: 'upsert' | 'append' | 'replace' | 'update';
}

/** A random spec. */
export interface SpecGenes {
  readonly resources: readonly ResourceGenes[];
  /** The version of the static table. */
  readonly table: number;
  readonly destination: 'postgres' | 'webhook';
  readonly onBehind: 'fail' | 'start_over';
}

/** Random genes of one to three resources; `children` never without `parents`. */
export function randomGenes(random: Random): SpecGenes {
  const kinds: readonly (readonly ResourceKey[])[] = [
    ['items'],
    ['items'],
    ['items'],
    ['items', 'prices'],
    ['parents', 'children'],
    ['parents', 'children'],
    ['items', 'parents', 'children'],
  ];
  const keys = random.pick(kinds);
  const drawn = keys.map((key) => randomResource(random, key));
  // What `prices` updates are rows by their key.
  const resources = keys.includes('prices')
    ? drawn.map((one) =>
        one.mode === 'append' ? { ...one, mode: one.cursor ? ('upsert' as const) : ('replace' as const) } : one,
      )
    : drawn;
  const destination = random.chance(0.3) && !keys.includes('prices') ? 'webhook' : 'postgres';
  return { resources, table: 1, destination, onBehind: random.pick(['fail', 'start_over'] as const) };
}

/** Whether unchanged records are not read again, so that rows may keep an earlier shape. */
export const isIncremental = ({ cursor, token, each }: Pick<ResourceGenes, 'cursor' | 'token' | 'each'>): boolean =>
  cursor !== null || token || each?.select === 'changed';

/** Random genes of a resource. */
export function randomResource(random: Random, key: ResourceKey): ResourceGenes {
  if (key === 'prices') return { ...randomResource(random, 'items'), ...ofPrices };
  const cursor = random.chance(key === 'parents' ? 0.4 : 0.55) ? randomCursor(random) : null;
  const token = cursor === null && key === 'items' && random.chance(0.3);
  const each = token ? null : randomEach(random, key);
  const mode = random.chance(0.7) || token ? 'upsert' : cursor || random.chance(0.5) ? 'append' : 'replace';
  const change = {
    mode: random.pick(['hash', 'hash', 'hash', 'field', 'none'] as const),
    ignoresNoise: random.chance(0.4),
    watchesLookup: random.chance(0.7),
  };
  const canDelete = mode === 'upsert' && (change.mode !== 'none' || cursor === null);
  const found = randomDeletes(random, { cursor, each, canDelete });
  const deletes = token ? { ...found, mode: 'flag' as const } : found;
  const cache = token ? 'none' : random.pick(['none', 'none', 'none', 'conditional', 'conditional', 'ttl'] as const);
  const drawn = randomPages(random, token ? 'token' : cursor ? 'cursor' : 'id');
  // Only a list that is one page is asked for by its version.
  const isOnePage = cache === 'conditional' && random.chance(0.5);
  const paged = isOnePage ? { ...drawn, pages: { ...drawn.pages, kind: 'none' as const } } : drawn;
  const validate = random.pick(['none', 'strict', 'strict', 'loose'] as const);
  const transforms = random.chance(0.7);
  return {
    key,
    cursor,
    token,
    wideKey: false,
    ...paged,
    lenient: !paged.bare && random.chance(0.4),
    byArea: key !== 'children' && random.chance(0.25),
    deletes,
    each,
    cache,
    filter: random.pick(['none', 'none', 'none', 'status', 'price'] as const),
    shape: {
      transforms,
      currency: random.chance(0.5),
      table: random.chance(0.4),
      parentName: key === 'children' && each?.size === null && random.chance(0.5),
      lookup: random.chance(0.5),
      wide: random.chance(0.5),
    },
    plan: random.chance(0.25)
      ? { onError: random.pick(['null', 'null', 'fail', 'quarantine'] as const), batch: random.chance(0.5) }
      : null,
    validate,
    onInvalid: random.pick(['fail', 'quarantine', 'quarantine', 'skip'] as const),
    change: deletes.mode === 'none' || deletes.mode === 'flag' ? change : { ...change, mode: 'hash' },
    mode,
  };
}

/** Random genes of a cursor. */
export function randomCursor(random: Random): CursorGenes {
  const field = random.pick([
    ...(['modified', 'modified', 'modified', 'stamp', 'stamp', 'local', 'local'] as const),
    ...(['written', 'epoch_s', 'epoch_ms', 'day', 'seq', 'seq', 'seq', 'text'] as const),
  ]);
  const canWindow = field === 'modified' || field === 'epoch_ms' || field === 'written';
  const window = canWindow && random.chance(0.25) ? 'P2D' : null;
  const isNumber = field === 'seq' || field === 'text';
  return {
    field,
    timezone: field === 'local' ? random.pick(['Europe/Berlin', 'Europe/Berlin', 'Asia/Tokyo'] as const) : null,
    order: random.pick(['asc', 'asc', 'asc', 'desc', 'none'] as const),
    settle: isNumber ? 'PT0S' : random.pick(['PT0S', 'PT0S', 'PT2S', 'PT30S'] as const),
    initial: window
      ? 'param'
      : field !== 'modified'
        ? 'none'
        : random.pick(['none', 'none', 'param', 'now-P7D'] as const),
    window,
    lookback: field === 'seq' ? random.pick([0, 3, 3] as const) : 0,
    clientFilter: window === null && random.chance(0.15),
  };
}

/** No deletes, no partitions: it writes one more column of rows that another resource owns. */
const ofPrices = {
  key: 'prices',
  each: null,
  deletes: { mode: 'none', scope: 'resource', effect: 'soft', brake: 'off', confirm: 1, listed: 'gone' },
  mode: 'update',
  validate: 'none',
  onInvalid: 'quarantine',
} as const satisfies Partial<ResourceGenes>;

function randomEach(random: Random, key: ResourceKey): EachGenes | null {
  if (key === 'parents' || (key === 'items' && random.chance(0.6))) return null;
  const from = key === 'items' ? 'values' : random.pick(['store', 'store', 'live'] as const);
  const size = random.chance(0.25) ? 2 : null;
  return {
    from,
    select: from === 'store' && size === null && random.chance(0.3) ? 'changed' : 'all',
    size,
    sendsRegion: key === 'children' && size === null && random.chance(0.4),
  };
}

interface Around {
  readonly cursor: CursorGenes | null;
  readonly each: EachGenes | null;
  readonly canDelete: boolean;
}

function randomDeletes(random: Random, { cursor, each, canDelete }: Around): ResourceGenes['deletes'] {
  const found = cursor
    ? (['none', 'flag', 'endpoint', 'endpoint'] as const)
    : (['full_scan', 'full_scan', 'full_scan', 'flag', 'none'] as const);
  return {
    mode: canDelete ? random.pick(found) : 'none',
    scope: each && random.chance(0.5) ? 'partition' : 'resource',
    effect: random.pick(['soft', 'hard'] as const),
    brake: random.pick(['default', 'tight', 'off'] as const),
    confirm: random.pick([1, 1, 1, 2] as const),
    listed: random.pick(['gone', 'ever', 'ever, with times'] as const),
  };
}

/** Random pages, and whether a page is a bare list; a keyset of ids only where the list is in their order. */
export function randomPages(random: Random, order: 'id' | 'cursor' | 'token'): Pick<ResourceGenes, 'pages' | 'bare'> {
  const kinds = ['page', 'page', 'offset', 'offset', 'cursor', 'next_url', 'link_header', 'none'] as const;
  const of = { id: [...kinds, 'keyset'], cursor: kinds, token: ['cursor', 'next_url', 'none'] } as const;
  const kind = random.pick(of[order]);
  const bare = order !== 'token' && kind !== 'cursor' && kind !== 'next_url' && random.chance(0.25);
  return {
    pages: {
      kind,
      size: random.between(2, 4),
      counts: !bare && random.chance(0.5),
      sparse: (kind === 'cursor' || kind === 'next_url' || kind === 'link_header') && random.chance(0.3),
      overlap: kind === 'offset' && random.chance(0.4) ? 1 : null,
    },
    bare,
  };
}
