import type { CityRecord } from './cities.ts';

interface PageOfCities {
  readonly body: Buffer;
  readonly more: boolean;
}

export interface CityFeed {
  readonly count: number;
  /** Pages start at 1; `since` is inclusive, in milliseconds since the epoch. */
  page(since: number, page: number, perPage: number): PageOfCities;
  touch(count: number, at: Date): readonly number[];
}

/** Serializes records once: a page is a copy of a range of bytes. */
export function createCityFeed(records: readonly CityRecord[]): CityFeed {
  let list = serialise(records);
  let touched = 0;
  return {
    count: records.length,
    page: (since, page, perPage) => {
      const first = firstAtOrAfter(list.records, since);
      const from = Math.min(first + (page - 1) * perPage, list.records.length);
      const to = Math.min(from + perPage, list.records.length);
      return { body: list.bytesOf(from, to), more: to < list.records.length };
    },
    touch: (count, at) => {
      // Touched records are at the end, so the first ones are untouched.
      const chosen = list.records.slice(0, Math.min(count, records.length - touched));
      touched += chosen.length;
      const changed = chosen.map((record) => ({ ...record, updated_at: at.toISOString() }));
      list = serialise([...list.records.slice(chosen.length), ...changed]);
      return changed.map(({ id }) => id);
    },
  };
}

function serialise(records: readonly CityRecord[]) {
  const texts = records.map((record) => JSON.stringify(record));
  const bytes = Buffer.from(`${texts.join(',')},`);
  const ends = new Float64Array(texts.length + 1);
  for (const [index, text] of texts.entries()) ends[index + 1] = (ends[index] ?? 0) + Buffer.byteLength(text) + 1;
  return {
    records,
    bytesOf: (from: number, to: number): Buffer => {
      if (from === to) return Buffer.from('[]');
      const body = Buffer.allocUnsafe((ends[to] ?? 0) - (ends[from] ?? 0) + 1);
      body.write('[');
      bytes.copy(body, 1, ends[from], ends[to]);
      // The comma behind the last record becomes the end of the list.
      body.write(']', body.length - 1);
      return body;
    },
  };
}

function firstAtOrAfter(records: readonly CityRecord[], since: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Date.parse(records[middle]?.updated_at ?? '') < since) low = middle + 1;
    else high = middle;
  }
  return low;
}
