/** Customers into rows without a service: the three ways that bounds are measured with. */
import { hash } from 'node:crypto';
import jsonata from 'jsonata';
import * as v from 'valibot';
import { type Customer, mappingWithPattern } from '../support/customers.ts';

/** A value of each column of the table. */
export type Row = Readonly<Record<string, unknown>>;

/** Columns of the table and their types. */
export const columns = {
  id: 'bigint',
  external_id: 'text',
  name: 'text',
  email: 'text',
  status: 'text',
  amount: 'numeric',
  currency: 'text',
  tags: 'jsonb',
  address_line1: 'text',
  address_city: 'text',
  address_postal_code: 'text',
  address_country: 'text',
  metadata: 'jsonb',
  description: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
};

/** The fields as they are. */
export const copied = (customer: Customer): Row => ({
  id: customer.id,
  external_id: customer.external_id,
  name: customer.name,
  email: customer.email,
  status: customer.status,
  amount: customer.amount,
  currency: customer.currency,
  tags: customer.tags,
  address_line1: customer.address.line1,
  address_city: customer.address.city,
  address_postal_code: customer.address.postal_code,
  address_country: customer.address.country,
  metadata: customer.metadata,
  description: customer.description,
  created_at: customer.created_at,
  updated_at: customer.updated_at,
});

/** What the mapping of the service's spec says, by hand. */
export const mapped = (customer: Customer): Row => ({
  ...copied(customer),
  name: customer.name.trim(),
  status: customer.status.toLowerCase(),
  amount: Math.round(customer.amount * 100) / 100,
});

/** The same by JSONata, with the column that needs a pattern. */
export async function evaluated(customers: readonly Customer[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const customer of customers) rows.push((await expression.evaluate(customer)) as Row);
  return rows;
}

const expression = jsonata(mappingWithPattern);

const RowForm = v.object({
  id: v.pipe(v.number(), v.integer()),
  external_id: v.string(),
  name: v.string(),
  email: v.pipe(v.string(), v.includes('@')),
  status: v.string(),
  amount: v.number(),
  currency: v.string(),
  tags: v.array(v.string()),
  address_line1: v.string(),
  address_city: v.string(),
  address_postal_code: v.string(),
  address_country: v.string(),
  metadata: v.looseObject({}),
  description: v.string(),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  updated_at: v.pipe(v.string(), v.isoTimestamp()),
});

/** Throws on a row that is not as it has to be. */
export const check = (row: Row): void => void v.parse(RowForm, row);

/** What tells whether a record is the same as before. */
export const fingerprintOf = (customer: Customer): string => hash('sha256', JSON.stringify(customer));
