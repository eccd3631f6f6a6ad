import type { Random } from '../simulation/random.ts';
import { isRefusal } from './account.ts';
import {
  isIncremental,
  type ResourceGenes,
  randomCursor,
  randomPages,
  randomResource,
  resourceKeys,
  type SpecGenes,
} from './genes.ts';
import type { Story } from './story.ts';

type ResourceChange = (resource: ResourceGenes, random: Random) => Partial<ResourceGenes> | null;

const toggled = (name: keyof ResourceGenes['shape']): ResourceChange => {
  return ({ shape }) => (shape.transforms ? { shape: { ...shape, [name]: !shape[name] } } : null);
};

/** The cursor, changed; null without one. */
const ofCursor = (change: (cursor: NonNullable<ResourceGenes['cursor']>, random: Random) => object): ResourceChange => {
  return ({ cursor }, random) => (cursor ? { cursor: { ...cursor, ...change(cursor, random) } } : null);
};

const changes: Readonly<Record<string, ResourceChange>> = {
  'cursor field': ({ cursor }, random) => {
    const others = [randomCursor(random), randomCursor(random)];
    return cursor ? { cursor: others.find(({ field }) => field !== cursor.field) ?? cursor } : null;
  },
  timezone: ({ cursor }) => {
    if (cursor?.field !== 'local') return null;
    return { cursor: { ...cursor, timezone: cursor.timezone === 'Asia/Tokyo' ? 'Europe/Berlin' : 'Asia/Tokyo' } };
  },
  order: ofCursor((_, random) => ({ order: random.pick(['asc', 'desc', 'none'] as const) })),
  clientFilter: ofCursor(({ clientFilter, window }) => ({ clientFilter: !clientFilter && window === null })),
  settle: ofCursor(({ field }, random) =>
    field === 'seq' || field === 'text' ? {} : { settle: random.pick(['PT0S', 'PT2S', 'PT30S'] as const) },
  ),
  'from a cursor to full': ({ cursor, deletes, mode }) =>
    cursor && mode === 'upsert' ? { cursor: null, deletes: { ...deletes, mode: 'full_scan' } } : null,
  'from full to a cursor': ({ cursor, token, wideKey, deletes, mode }, random) =>
    cursor || token || wideKey || mode === 'replace'
      ? null
      : { cursor: randomCursor(random), deletes: { ...deletes, mode: random.pick(['none', 'endpoint'] as const) } },
  pages: ({ cursor, token }, random) => randomPages(random, token ? 'token' : cursor ? 'cursor' : 'id'),
  'primary key': ({ key, wideKey, deletes }) =>
    key === 'items' && deletes.mode !== 'endpoint' ? { wideKey: !wideKey } : null,
  cache: ({ token }, random) => (token ? null : { cache: random.pick(['none', 'conditional'] as const) }),
  filter: (_, random) => ({ filter: random.pick(['none', 'status', 'price'] as const) }),
  currency: toggled('currency'),
  'static table used': toggled('table'),
  'fewer or more fields': toggled('wide'),
  lookup: toggled('lookup'),
  'no transform, or one': ({ shape }) => ({ shape: { ...shape, transforms: !shape.transforms } }),
  parentName: ({ each, shape }) =>
    each && each.from !== 'values' && each.size === null
      ? { shape: { ...shape, parentName: !shape.parentName } }
      : null,
  validate: ({ validate }, random) => ({
    validate: validate === 'strict' ? 'loose' : 'strict',
    onInvalid: random.pick(['quarantine', 'quarantine', 'skip'] as const),
  }),
  deletes: ({ deletes, cursor, token, wideKey, mode }, random) => {
    if (token || wideKey) return null;
    const modes = cursor ? (['none', 'endpoint'] as const) : (['full_scan', 'full_scan', 'none'] as const);
    return mode === 'upsert' && deletes.mode !== 'flag' ? { deletes: { ...deletes, mode: random.pick(modes) } } : null;
  },
  'delete effect': ({ deletes }) => ({
    deletes: { ...deletes, effect: deletes.effect === 'soft' ? 'hard' : 'soft' },
  }),
  confirm: ({ deletes }) => ({ deletes: { ...deletes, confirm: deletes.confirm === 1 ? 2 : 1 } }),
  'delete scope': ({ deletes, each }) =>
    each ? { deletes: { ...deletes, scope: deletes.scope === 'resource' ? 'partition' : 'resource' } } : null,
  'parents selected': ({ each }) =>
    each?.from === 'store' && each.size === null
      ? { each: { ...each, select: each.select === 'all' ? 'changed' : 'all' } }
      : null,
  'parents from': ({ each }) =>
    each && each.from !== 'values' && each.select === 'all'
      ? { each: { ...each, from: each.from === 'store' ? 'live' : 'store' } }
      : null,
  'region sent': ({ each }) =>
    each && each.from !== 'values' && each.size === null ? { each: { ...each, sendsRegion: !each.sendsRegion } } : null,
  'size of groups': ({ each, shape }, random) =>
    each && !each.sendsRegion && !shape.parentName
      ? { each: { ...each, size: random.pick([null, 2, 3] as const), select: 'all' } }
      : null,
  partitions: ({ key, token, each }) =>
    key === 'items' && !token
      ? { each: each ? null : { from: 'values', select: 'all', size: null, sendsRegion: false } }
      : null,
  'ignored fields': ({ change }) => ({ change: { ...change, ignoresNoise: !change.ignoresNoise } }),
  'change detection': ({ change }, random) => ({
    change: { ...change, mode: random.pick(['hash', 'field', 'none'] as const) },
  }),
  enrichment: ({ plan }, random) => ({ plan: plan ? null : { onError: 'null', batch: random.chance(0.5) } }),
};

/** Another version of the spec, and the connection pinned to it. */
export async function upgradeStory(story: Story): Promise<string | null> {
  const changed = changedGenes(story);
  if (!changed) return null;
  const { name, genes } = changed;
  const refused = await story.publish(genes);
  if (refused !== null) return `${name}: ${refused}`;
  const upgrade = await story.account.upgrade(story.version);
  if (isRefusal(upgrade)) return `${name}: ${upgrade.refused}`;
  const before = story.genes;
  story.genes = genes;
  for (const { resourceKey, backfillRecommended } of upgrade.plan.resources) {
    const resource = genes.resources.find(({ key }) => key === resourceKey);
    if (resource && backfillRecommended) story.shaped.add(resource.key);
  }
  // The plan is about resources; a static table of the spec shapes those that use it, as a backfill would show.
  if (before.table !== genes.table)
    for (const resource of genes.resources)
      if (resource.shape.table && isIncremental(resource)) story.shaped.add(resource.key);
  const plan = upgrade.plan.resources.map((one) => `${one.resourceKey} ${one.class}: ${one.effect}`).join(' ');
  return `${name}, to ${story.version}: ${plan}`;
}

function changedGenes({ random, genes }: Story): { readonly name: string; readonly genes: SpecGenes } | null {
  const what = random.next();
  if (what < 0.08) return { name: 'another static table', genes: { ...genes, table: genes.table + 1 } };
  if (what < 0.22) return otherResources(random, genes);
  const resource = random.pick(genes.resources);
  const name = what < 0.5 ? 'cursor field' : random.pick(Object.keys(changes));
  const changed = changes[name]?.(resource, random);
  const isOfTwo = genes.resources.some(({ key }) => key === 'prices');
  if (!changed || (isOfTwo && name === 'primary key')) return null;
  const resources = genes.resources.map((one) => (one.key === resource.key ? { ...one, ...changed } : one));
  return { name: `${resource.key}, ${name} ${JSON.stringify(changed)}`, genes: { ...genes, resources } };
}

/** A resource goes or comes; `children` only where `parents` are. */
function otherResources(random: Random, genes: SpecGenes): { readonly name: string; readonly genes: SpecGenes } | null {
  const key = random.pick(['items', 'children', 'prices'] as const);
  const has = (name: string): boolean => genes.resources.some((resource) => resource.key === name);
  const added = randomResource(random, key);
  const isWide = genes.resources.some(({ wideKey }) => wideKey);
  const isAppended = genes.resources.some((one) => one.key === 'items' && one.mode === 'append');
  if (key === 'prices' && (isWide || isAppended || genes.destination === 'webhook')) return null;
  if (has(key)) {
    const gone: readonly string[] = key === 'items' ? ['items', 'prices'] : [key];
    const resources = genes.resources.filter((resource) => !gone.includes(resource.key));
    return resources.length === 0 ? null : { name: `without ${key}`, genes: { ...genes, resources } };
  }
  if ((key === 'children' && !has('parents')) || (key === 'prices' && !has('items'))) return null;
  const order = (resource: ResourceGenes): number => resourceKeys.indexOf(resource.key);
  const resources = [...genes.resources, added].toSorted((one, other) => order(one) - order(other));
  return { name: `with ${key} ${JSON.stringify(added)}`, genes: { ...genes, resources } };
}
