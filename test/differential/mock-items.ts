import { fields, isRecord, type JsonRecord } from './json.ts';

/** Which item of which page of an address. */
export interface ItemPlace {
  readonly page: number;
  readonly index: number;
  readonly path: string;
}

/** A record: the properties of the schema, the key, the cursor. */
export function itemOf(stream: JsonRecord, { page, index, path }: ItemPlace): JsonRecord {
  const schema = fields(fields(stream, 'schema_loader'), 'schema');
  const item: Record<string, unknown> = {
    ...propertiesOf(schema, 0),
    status: 'active',
    name: `Name ${index}`,
    timezone: 'Asia/Tokyo',
  };
  const id = `r${page}i${index}p${hashOf(path)}`;
  for (const key of [stream['primary_key'] ?? 'id'].flat(2)) if (typeof key === 'string' && key !== '') item[key] = id;
  item['id'] = id;
  const cursor = fields(stream, 'incremental_sync');
  const field = cursor['cursor_field'];
  if (typeof field === 'string' && !field.includes('{')) item[field] = momentOf(cursor, { page, index });
  return item;
}

function momentOf(cursor: JsonRecord, { page, index }: Pick<ItemPlace, 'page' | 'index'>): unknown {
  if (cursor['type'] === 'IncrementingCountCursor') return page * 100 + index;
  const formats = cursor['cursor_datetime_formats'];
  const format = String((Array.isArray(formats) ? formats[0] : undefined) ?? cursor['datetime_format']);
  const ms = Date.UTC(2024, 5, 15, 12, 0, 0) - (page * 200 + index) * 1000;
  if (format === '%s') return ms / 1000;
  if (format === '%ms') return ms;
  const iso = new Date(ms).toISOString();
  const part = (from: number, to: number): string => iso.slice(from, to);
  return format
    .replace('%_ms', '000')
    .replace('%Y', part(0, 4))
    .replace('%m', part(5, 7))
    .replace('%d', part(8, 10))
    .replace('%H', part(11, 13))
    .replace('%M', part(14, 16))
    .replace('%S', part(17, 19))
    .replace('%f', '000000')
    .replace('%z', '+0000');
}

/** A number that stands for a path: of some thousands no two are likely to have the same. */
export function hashOf(path: string): number {
  let sum = 7;
  for (let at = 0; at < path.length; at += 1) sum = (sum * 31 + path.charCodeAt(at)) % 2_147_483_647;
  return sum;
}

const samples: Readonly<Record<string, unknown>> = { string: 'text', integer: 7, number: 1.5, boolean: true };

function propertiesOf(schema: JsonRecord, depth: number): Record<string, unknown> {
  if (depth > 3) return {};
  return Object.fromEntries(
    Object.entries(fields(schema, 'properties')).map(([key, value]) => [
      key,
      sampleOf(isRecord(value) ? value : {}, depth),
    ]),
  );
}

function sampleOf(schema: JsonRecord, depth: number): unknown {
  const type = [schema['type']].flat().find((name) => name !== 'null');
  if (type === 'object') return propertiesOf(schema, depth + 1);
  if (type === 'array') return [sampleOf(fields(schema, 'items'), depth + 1)].filter((item) => item !== null);
  if (type === 'string' && schema['format'] === 'date-time') return '2024-06-15T10:00:00Z';
  if (type === 'string' && schema['format'] === 'date') return '2024-06-15';
  return samples[String(type)] ?? null;
}
