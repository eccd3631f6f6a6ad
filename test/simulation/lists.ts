/** The lists of the customer's API: pages of the records as they are when the page is asked for. */
import { type Counts, count } from './effects.ts';
import { type ApiRecord, type ApiResponse, type Collection, groupOf } from './records.ts';
import { type resourceKeys, windowRecordsMax } from './specs.ts';

/** A record that was deleted. */
export interface Deleted {
  readonly id: string;
  readonly group: string;
}

interface ListsOptions {
  readonly counts: Counts;
  readonly collections: Readonly<Record<(typeof resourceKeys)[number], Collection>>;
  readonly deleted: readonly Deleted[];
  /** Records on a page, at most. */
  readonly pageSize: number;
}

/** Records that a request asks for at most; 0: it does not say. */
export const limitOf = (url: URL): number => Number(url.searchParams.get('limit') ?? 0);

/** The part of the API that lists records. */
export function createLists({ counts, collections, deleted, pageSize }: ListsOptions) {
  const pageOf = (url: URL): ApiResponse => {
    const [, name = '', group = ''] = url.pathname.split('/');
    if (name === 'deleted') return { status: 200, body: { data: deleted.filter((one) => one.group === group) } };
    const wanted = group === '' ? url.searchParams.get('groups') : group;
    const fields = url.searchParams.get('fields')?.split(',');
    const after = url.searchParams.get('after') ?? '';
    const since = Number(url.searchParams.get('since') ?? 0);
    const until = Number(url.searchParams.get('until') ?? Number.POSITIVE_INFINITY);
    const isWhole = name === 'whole';
    const isSorted = url.searchParams.get('order') === 'asc';
    const keyOf = (record: ApiRecord): string =>
      !isSorted ? record.id : `${String(record.at).padStart(16, '0')}/${record.id}`;
    const all = [...collections[name as keyof typeof collections].values()]
      .filter(({ id }) => wanted === null || wanted.split(',').includes(groupOf(id)))
      .filter(({ at }) => isWhole || (since <= at && at <= until))
      .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const number = url.searchParams.get('page');
    if (number !== null) return numberedPage(all, Number(number), limitOf(url));
    // What is made within two seconds is always shown: no window is smaller.
    const isCut = all.length > windowRecordsMax && Number.isFinite(until) && until - since >= 2000;
    if (isCut) count(counts, 'windows that are cut');
    const shown = isCut ? all.slice(0, windowRecordsMax) : all;
    const records = shown.filter((record) => keyOf(record) > after);
    const size = Math.min(pageSize, limitOf(url));
    const page = records.slice(0, size);
    const last = page.at(-1);
    const data = fields === undefined ? page : page.map((record) => partOf(record, fields));
    // A count at the cap would say that they may be more.
    const total = isCut ? all.length : Math.min(all.length, windowRecordsMax - 1);
    return { status: 200, body: { data, total, next: last && records.length > size ? keyOf(last) : null } };
  };
  return { pageOf };
}

/** A page of a list that grows at its end only. */
const numberedPage = (records: readonly ApiRecord[], number: number, size: number): ApiResponse => ({
  status: 200,
  body: { data: records.slice((number - 1) * size, number * size), pages: Math.ceil(records.length / size) },
});

/** The fields of a record that a request names. */
const partOf = (record: ApiRecord, fields: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([field]) => fields.includes(field)));
