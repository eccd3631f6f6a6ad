/** The lists of the customer's API: pages of the records as they are when the page is asked for. */
import { type ApiRecord, type ApiResponse, type Collection, groupOf } from './records.ts';
import type { resourceKeys } from './specs.ts';

/** A record that was deleted. */
export interface Deleted {
  readonly id: string;
  readonly group: string;
}

interface ListsOptions {
  readonly collections: Readonly<Record<(typeof resourceKeys)[number], Collection>>;
  readonly deleted: readonly Deleted[];
  /** Records on a page, at most. */
  readonly pageSize: number;
}

/** Records that a request asks for at most; 0: it does not say. */
export const limitOf = (url: URL): number => Number(url.searchParams.get('limit') ?? 0);

/** The part of the API that lists records. */
export function createLists({ collections, deleted, pageSize }: ListsOptions) {
  const pageOf = (url: URL): ApiResponse => {
    const [, name = '', group = ''] = url.pathname.split('/');
    if (name === 'deleted') return { status: 200, body: { data: deleted.filter((one) => one.group === group) } };
    const wanted = group === '' ? url.searchParams.get('groups') : group;
    const fields = url.searchParams.get('fields')?.split(',');
    const after = url.searchParams.get('after') ?? '';
    const since = Number(url.searchParams.get('since') ?? 0);
    const isWhole = name === 'whole';
    const isSorted = url.searchParams.get('order') === 'asc';
    const keyOf = (record: ApiRecord): string =>
      !isSorted ? record.id : `${String(record.at).padStart(16, '0')}/${record.id}`;
    const records = [...collections[name as keyof typeof collections].values()]
      .filter(({ id }) => wanted === null || wanted.split(',').includes(groupOf(id)))
      .filter((record) => (isWhole || record.at >= since) && keyOf(record) > after)
      .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    const number = url.searchParams.get('page');
    if (number !== null) return numberedPage(records, Number(number), limitOf(url));
    const size = Math.min(pageSize, limitOf(url));
    const page = records.slice(0, size);
    const last = page.at(-1);
    const data = fields === undefined ? page : page.map((record) => partOf(record, fields));
    return { status: 200, body: { data, next: last && records.length > size ? keyOf(last) : null } };
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
