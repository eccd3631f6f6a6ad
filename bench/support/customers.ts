/** The customers that the fake API has: each is made of its number and version alone, so both ends can tell what is right. */
import { hash } from 'node:crypto';

/** A record, as the API gives it: about 510 bytes of JSON. */
export interface Customer {
  readonly id: number;
  readonly external_id: string;
  readonly name: string;
  readonly email: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly tags: readonly string[];
  readonly address: {
    readonly line1: string;
    readonly city: string;
    readonly postal_code: string;
    readonly country: string;
  };
  readonly metadata: { readonly source: string; readonly score: number; readonly campaign: string };
  readonly description: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const firstNames = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Frances', 'Niklaus', 'Radia', 'Ken'];
const lastNames = [
  'Lovelace',
  'Hopper',
  'Turing',
  'Dijkstra',
  'Liskov',
  'Knuth',
  'Allen',
  'Wirth',
  'Perlman',
  'Wilkes',
];
const cities = ['Lisbon', 'Malmö', 'Graz', 'Ghent', 'Turin', 'Brno', 'Cork', 'Tartu', 'Porto', 'Łódź'];
const countries = ['PT', 'SE', 'AT', 'BE', 'IT', 'CZ', 'IE', 'EE', 'PT', 'PL'];
const statuses = ['active', 'trialing', 'past_due', 'canceled'];
const tags = ['vip', 'newsletter', 'beta', 'wholesale', 'eu', 'partner', 'churn-risk'];
const epochMs = Date.UTC(2026, 0, 1);
/** Further than the times of all first versions are apart: what changes becomes newer than everything. */
const versionMs = 30 * 24 * 3600 * 1000;

/** The customer of a number, from 1; of each version amount and time of change differ. */
export function customerOf(id: number, version: number): Customer {
  const of = <Value>(values: readonly Value[], salt: number): Value => values[mixed(id, salt) % values.length] as Value;
  const [first, last] = [of(firstNames, 1), of(lastNames, 2)];
  return {
    id,
    external_id: `cus_${String(id).padStart(10, '0')}`,
    name: `${first} ${last}`,
    email: `${first}.${last}.${id}@example.test`,
    status: of(statuses, 3),
    amount: (mixed(id, 100 + version) % 10_000_000) / 100,
    currency: 'EUR',
    tags: [of(tags, 4), of(tags, 5)],
    address: {
      line1: `${1 + (mixed(id, 6) % 900)} Market Street`,
      city: of(cities, 7),
      postal_code: String(mixed(id, 8) % 100_000).padStart(5, '0'),
      country: of(countries, 7),
    },
    metadata: { source: 'import', score: mixed(id, 9) % 1000, campaign: `c-${mixed(id, 10).toString(36)}` },
    description: `Customer record number ${id}, of which nothing is true but its length in bytes`,
    created_at: timeOf(epochMs - (mixed(id, 11) % 31_536_000) * 1000),
    updated_at: timeOf(epochMs + id * 1000 + version * versionMs),
  };
}

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Bits that look random and are the same each time (the finalizer of MurmurHash3). */
function mixed(id: number, salt: number): number {
  let bits = Math.imul(id, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** What tells whether a table holds the right rows, whatever their order. */
export interface Checksum {
  readonly rows: number;
  /** How many different ids they have. */
  readonly ids: number;
  /** Over id, email, amount, city and time of change of every row. */
  readonly sum: number;
}

/** Of the records themselves. */
export function checksumOf(customers: Iterable<Customer>): Checksum {
  let [rows, sum] = [0, 0];
  for (const { id, email, amount, address, updated_at } of customers) {
    const text = [id, email, Math.round(amount * 100), address.city, Date.parse(updated_at) / 1000].join('|');
    sum += Number.parseInt(hash('md5', text).slice(0, 8), 16);
    rows += 1;
  }
  return { rows, ids: rows, sum };
}

/** The same of the table `customers`: one row with `rows`, `ids` and `sum` as text. */
export const checksumSql = `
  select count(*) as rows, count(distinct id) as ids, sum(('x' || left(md5(concat_ws('|', id, email,
    round((amount * 100)::numeric)::bigint, address_city, extract(epoch from updated_at)::bigint)), 8))::bit(32)::bigint) as sum
  from customers`;

const mappingWith = (name: string): string => `{
  "id": id, "external_id": external_id, "name": ${name}, "email": email, "status": $lowercase(status),
  "amount": $round(amount, 2), "currency": currency, "tags": [tags], "address_line1": address.line1,
  "address_city": address.city, "address_postal_code": address.postal_code, "address_country": address.country,
  "metadata": metadata, "description": description, "created_at": created_at, "updated_at": updated_at }`;

/** A record into a row, in JSONata. */
export const mapping = mappingWith('$trim(name)');
/** The same rows, but one column needs a pattern, for which there is only the interpreter. */
export const mappingWithPattern = mappingWith('$replace($trim(name), /\\s+/, " ")');
