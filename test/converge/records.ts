import type { Random } from '../simulation/random.ts';
import { type Change, cursorValues } from './cursors.ts';

/** The lists of the fake API: `children` belong to `parents`. */
export const collections = ['items', 'parents', 'children'] as const;
export type Collection = (typeof collections)[number];

type Fields = Readonly<Record<string, unknown>>;

/** A record of the fake API. */
export interface ApiRecord extends Change {
  readonly id: string;
  /** Grows with every change, so that two versions of a record are told apart. */
  readonly rev: number;
  readonly fields: Fields;
}

/** A place that no longer shows a record: the group, region or parent that it had. */
interface Removal extends Change {
  readonly id: string;
  readonly place: string;
}

/** What the fake API holds. */
export interface Records {
  all(collection: Collection): readonly ApiRecord[];
  find(collection: Collection, id: string): ApiRecord | undefined;
  /** Creates or changes a record; a field of `undefined` vanishes. `together`: it has the time of the change before it. */
  write(collection: Collection, id: string, fields: Fields, options?: WriteOptions): void;
  remove(collection: Collection, id: string): void;
  removals(collection: Collection): readonly Removal[];
  /** Creates a record whose number is that of two changes before, as one that was committed late. */
  writeLate(collection: Collection, id: string, fields: Fields): void;
  /** Puts a record back as it was before its last change; false: it has not changed. */
  goBack(collection: Collection, id: string): boolean;
  /** The last change. */
  newest(): Change;
  /** The places that ever showed the record. */
  placesOf(collection: Collection, id: string): ReadonlySet<string>;
}

interface WriteOptions {
  /** Milliseconds since the epoch; now unless given. */
  readonly at?: number;
  readonly together?: boolean;
}

/** The place of a record: what requests for a part of its list name. */
export const placeOf = (collection: Collection, { fields }: ApiRecord): string =>
  String(collection === 'children' ? fields['parent'] : fields['group']);

/** An API without records. */
export function createRecords(): Records {
  const tables = new Map<Collection, Map<string, ApiRecord>>(collections.map((name) => [name, new Map()]));
  const removals = new Map<Collection, Removal[]>(collections.map((name) => [name, []]));
  const places = new Map<string, Set<string>>();
  const earlier = new Map<string, ApiRecord>();
  const table = (name: Collection): Map<string, ApiRecord> => tables.get(name) ?? new Map();
  const last = { at: 0, seq: 0 };
  const tick = ({ at = Date.now(), together = false }: WriteOptions): Change => {
    last.at = together ? last.at : Math.max(at, last.at + 1);
    last.seq += 1;
    return { ...last };
  };
  const leave = (name: Collection, record: ApiRecord, change: Change): void => {
    removals.get(name)?.push({ id: record.id, place: placeOf(name, record), ...change });
  };
  return {
    all: (name) => [...table(name).values()],
    find: (name, id) => table(name).get(id),
    write(name, id, given, options = {}) {
      const before = table(name).get(id);
      if (before) earlier.set(`${name}/${id}`, before);
      else earlier.delete(`${name}/${id}`);
      const change = tick(options);
      const fields = Object.fromEntries(
        Object.entries({ ...before?.fields, ...given }).filter(([, value]) => value !== undefined),
      );
      const record: ApiRecord = { id, rev: change.seq, fields, ...change };
      table(name).set(id, record);
      const known = places.get(`${name}/${id}`) ?? new Set();
      places.set(`${name}/${id}`, known.add(placeOf(name, record)));
      if (before && placeOf(name, before) !== placeOf(name, record)) leave(name, before, change);
    },
    writeLate(name, id, fields) {
      this.write(name, id, fields);
      const record = table(name).get(id);
      if (record) table(name).set(id, { ...record, seq: record.seq - 2 });
    },
    goBack(name, id) {
      const [now, before] = [table(name).get(id), earlier.get(`${name}/${id}`)];
      if (!now || !before) return false;
      table(name).set(id, before);
      earlier.delete(`${name}/${id}`);
      if (placeOf(name, before) !== placeOf(name, now)) leave(name, now, tick({}));
      return true;
    },
    remove(name, id) {
      const record = table(name).get(id);
      if (!record) return;
      table(name).delete(id);
      leave(name, record, tick({}));
    },
    newest: () => ({ ...last }),
    removals: (name) => removals.get(name) ?? [],
    placesOf: (name, id) => places.get(`${name}/${id}`) ?? new Set(),
  };
}

/** A record as a response shows it. */
export const shown = (record: ApiRecord): Readonly<Record<string, unknown>> => ({
  id: record.id,
  rev: record.rev,
  ...record.fields,
  ...cursorValues(record),
});

export const groups = ['a', 'b', 'c', 'd'] as const;
export const areas = ['eu', 'us'] as const;
export const regions = ['north', 'south'] as const;
export const statuses = ['open', 'done', 'test'] as const;

/** The fields of a new record. */
export function newFields(random: Random, collection: Collection, parents: readonly string[]): Fields {
  const common = {
    name: `name ${random.between(1, 99)}`,
    ...(random.chance(0.7) && { note: random.pick([null, 'short', 'long']) }),
    price: random.between(1, 90),
    status: random.pick(statuses),
    noise: random.between(1, 1_000_000),
    plan: `p${random.between(1, 4)}`,
    owner: `u${random.between(1, 4)}`,
    area: random.pick(areas),
    group: random.pick(groups),
  };
  if (collection === 'items') return common;
  const placed = { ...common, region: random.pick(regions) };
  return collection === 'parents' ? { ...placed, kids: 0 } : { ...placed, parent: random.pick(parents) };
}
