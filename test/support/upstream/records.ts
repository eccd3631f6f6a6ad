/** A record of the fake customer API; `updated_at` is ISO 8601 in UTC with milliseconds. */
export interface UpstreamRecord {
  readonly id: string;
  readonly updated_at: string;
  readonly [field: string]: unknown;
}

interface GenerateOptions {
  /** JSON bytes of one record, roughly. */
  readonly bytes?: number;
  /** `updated_at` of the first record. */
  readonly startAt?: string;
  /** Milliseconds between the `updated_at` of neighbours; 0 gives all the same. */
  readonly stepMs?: number;
}

/** `count` records that are the same on every call: ids `r000001`, `r000002`, … in the order of `updated_at`. */
export function generateRecords(count: number, options: GenerateOptions = {}): readonly UpstreamRecord[] {
  const { bytes = 500, startAt = '2025-01-01T00:00:00.000Z', stepMs = 1000 } = options;
  const start = Date.parse(startAt);
  return Array.from({ length: count }, (_, index) => {
    const record = recordAt(index, new Date(start + index * stepMs).toISOString());
    return { ...record, note: 'x'.repeat(Math.max(0, bytes - JSON.stringify(record).length - ',"note":""'.length)) };
  });
}

/** What one collection of the fake API holds. */
export interface RecordStore {
  /** By `updated_at`, then id; the bounds are inclusive and exclusive, null is no bound. */
  list(since?: string | null, before?: string | null): readonly UpstreamRecord[];
  find(id: string): UpstreamRecord | undefined;
  /** Gives each a new `updated_at` (now unless told) and the fields of `patch`. Throws when an id is unknown. */
  touch(ids: readonly string[], patch?: Readonly<Record<string, unknown>>, at?: Date): void;
  /** Adds records, or replaces those with the same id. */
  put(...records: readonly UpstreamRecord[]): void;
  remove(...ids: readonly string[]): void;
}

/** A store that holds `initial`. */
export function createRecordStore(initial: readonly UpstreamRecord[]): RecordStore {
  const byId = new Map(initial.map((record) => [record.id, record]));
  let sorted: readonly UpstreamRecord[] | undefined;

  const put = (records: readonly UpstreamRecord[]): void => {
    for (const record of records) byId.set(record.id, record);
    sorted = undefined;
  };
  const known = (id: string): UpstreamRecord => {
    const record = byId.get(id);
    if (!record) throw new Error(`the fake API has no record ${id}`);
    return record;
  };

  return {
    list: (since = null, before = null) => {
      sorted ??= [...byId.values()].sort(byTimeThenId);
      return since === null && before === null ? sorted : sorted.filter((record) => isWithin(record, since, before));
    },
    find: (id) => byId.get(id),
    touch: (ids, patch = {}, at = new Date()) =>
      put(ids.map((id) => ({ ...known(id), ...patch, id, updated_at: at.toISOString() }))),
    put: (...records) => put(records),
    remove: (...ids) => {
      for (const id of ids) byId.delete(id);
      sorted = undefined;
    },
  };
}

const countries = ['DE', 'FR', 'BR', 'JP', 'KE', 'US'];

function recordAt(index: number, updatedAt: string): UpstreamRecord {
  const number = String(index + 1).padStart(6, '0');
  return {
    id: `r${number}`,
    name: `Name ${number}`,
    email: `user${number}@example.com`,
    country: countries[index % countries.length],
    amount: (index * 37) % 10_000,
    active: index % 3 !== 0,
    tags: [`tag${index % 5}`, `tag${index % 7}`],
    address: { street: `Street ${index % 100}`, zip: String(10_000 + (index % 90_000)) },
    updated_at: updatedAt,
  };
}

const byTimeThenId = (a: UpstreamRecord, b: UpstreamRecord): number =>
  compare(a.updated_at, b.updated_at) || compare(a.id, b.id);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Bounds may come in any ISO form; the records' own form makes text comparison right only among themselves. */
const isWithin = (record: UpstreamRecord, since: string | null, before: string | null): boolean =>
  (since === null || Date.parse(record.updated_at) >= Date.parse(since)) &&
  (before === null || Date.parse(record.updated_at) < Date.parse(before));
