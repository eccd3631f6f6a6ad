import { beforeAll, describe, expect, it } from 'vitest';
import { hookSecret, useWebhookStack } from '../support/destinations/webhook-sync.ts';
import { type Charge, imitateStripe } from '../support/imitations/stripe.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { specDocument } from '../support/sync/spec-documents.ts';

const secretKey = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc';
const stripe = imitateStripe({ secretKey });
const shared = useWebhookStack({ reply: (request) => stripe.reply(request) });

const daySeconds = 86_400;
const now = Math.floor(Date.now() / 1000);
const start = now - 100 * daySeconds;
const currencies = ['usd', 'eur', 'jpy', 'kwd', 'chf'] as const;
const scales: Readonly<Record<string, number>> = { jpy: 0, usd: 2, eur: 2, kwd: 3 };

/** Charge n, three of them in each second. */
const charge = (n: number, created = start + Math.floor(n / 3) * 25_900): Charge => ({
  id: `ch_${String(n).padStart(6, '0')}`,
  amount: 1000 + n,
  currency: currencies[n % currencies.length] ?? 'usd',
  status: n % 11 === 0 ? 'failed' : 'succeeded',
  customer: n % 4 === 0 ? null : n % 4 === 1 ? `cus_${n}` : { id: `cus_${n}` },
  metadata: n % 2 === 0 ? { product_id: `prod_${n % 150}` } : {},
  created,
  refunded: false,
  amount_refunded: 0,
});

let customer: Customer;
beforeAll(async () => {
  stripe.charges.push(...Array.from({ length: 1000 }, (_, n) => charge(n)));
  for (let n = 0; n < 150; n += 1) {
    const product = { id: `prod_${n}`, name: `Product ${n}`, active: n % 10 !== 0, created: start - n, metadata: {} };
    stripe.products.push(product);
  }
  const { stack, upstream } = shared();
  customer = await connectCustomer(stack, {
    document: specDocument('stripe'),
    params: {
      apiUrl: upstream.url,
      startDate: new Date(start * 1000).toISOString().slice(0, 10),
      sinkUrl: 'https://sink.example.com/',
    },
    secrets: { secretKey, sinkSecret: 'not-used-by-this-destination' },
  });
  return () => customer[Symbol.asyncDispose]();
});

const expectedRow = (one: Charge) => {
  const product = stripe.products.find(({ id, active }) => active && id === one.metadata['product_id']);
  return {
    id: one.id,
    amount: (one.amount / 10 ** (scales[one.currency] ?? 2)).toFixed(3),
    currency: one.currency.toUpperCase(),
    status: one.status,
    customer_id: typeof one.customer === 'string' ? one.customer : (one.customer?.id ?? null),
    product: product?.name ?? null,
    created_at: new Date(one.created * 1000).toISOString(),
    refunded: one.refunded,
  };
};

async function storedRows(): Promise<unknown[]> {
  const rows = await customer.destination.query<{ created_at: Date }>(
    'select id, amount, currency, status, customer_id, product, created_at, refunded from charges order by id',
  );
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
}

const idOf = (row: object): string => String((row as { readonly id: unknown }).id);
const expectedRows = () => stripe.charges.map(expectedRow).toSorted((a, b) => (a.id < b.id ? -1 : 1));
const asked = (path: string) => shared().upstream.journal.filter(({ url }) => url.startsWith(path));

describe('the Stripe spec', () => {
  it('reads charges newest first in windows, with decimals and names from tables, through a 429', async () => {
    stripe.refuseNext();
    const run = await customer.sync('charges');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 1000, recordsOut: 1000 } });
    expect(await storedRows()).toEqual(expectedRows());
    const queries = asked('/v1/charges').map(({ url }) => new URL(url, 'http://stripe').searchParams);
    expect(new Set(queries.map((query) => query.get('created[gte]'))).size).toBeGreaterThanOrEqual(4);
    expect(queries.every((query) => Number(query.get('created[lt]')) > 0)).toBe(true);
  });

  it('finds a charge of the very second in which the last one was read, and sends nothing twice', async () => {
    const last = stripe.charges.at(-1);
    if (!last) throw new Error('There are charges');
    stripe.charges.push({ ...charge(1001, last.created), id: 'ch_same_second' });
    await customer.destination.audit('charges');
    expect(await customer.sync('charges')).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1 } });
    expect(await customer.destination.writes()).toMatchObject({ inserts: 1, updates: 0, deletes: 0 });
    expect(await storedRows()).toEqual(expectedRows());
  });

  it('asks for the products once an hour: the second run found them stored, and its call log says so', async () => {
    const loads = asked('/v1/products').length;
    const run = await customer.sync('charges');
    expect(asked('/v1/products')).toHaveLength(loads);
    const hits = (await customer.calls(run.id)).filter(({ cacheHit }) => cacheHit);
    expect(hits).toMatchObject([{ statusCode: null, durationMs: 0 }]);
    expect(hits[0]?.url).toContain('/v1/products');
  });

  it('follows the events: the newest of several for a charge wins, other columns stay, no row is made', async () => {
    const changed = stripe.charges[10];
    if (!changed) throw new Error('There is such a charge');
    const eventAt = (created: number, object: Charge, no: number) =>
      stripe.events.push({ id: `evt_${no}`, type: 'charge.refunded', created, data: { object } });
    eventAt(now - 3600, { ...changed, amount_refunded: 500 }, 1);
    eventAt(now - 1800, { ...changed, amount_refunded: changed.amount, refunded: true }, 2);
    eventAt(now - 900, { ...charge(5000), refunded: true, amount_refunded: 1 }, 3);
    for (let no = 4; no < 150; no += 1) {
      const other = stripe.charges[no];
      if (other) eventAt(now - 7200 - no, { ...other, amount_refunded: no }, no);
    }
    const run = await customer.sync('charge_updates');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 149 } });
    const [row] = await customer.destination.query(
      `select refunded, amount_refunded::int, currency, amount from charges where id = '${changed.id}'`,
    );
    const { currency, amount } = expectedRow(changed);
    expect(row).toEqual({ refunded: true, amount_refunded: changed.amount, currency, amount });
    const [count] = await customer.destination.query<{ count: string }>('select count(*) from charges');
    expect(Number(count?.count)).toBe(stripe.charges.length);
  });

  it('fails loudly when the events between two runs are older than the feed remembers', async () => {
    const longAgo = new Date((now - 40 * daySeconds) * 1000).toISOString();
    await shared()
      .stack.db.updateTable('partitions')
      .set({ watermark: longAgo, readAt: longAgo })
      .where('laneId', 'in', (eb) => eb.selectFrom('lanes').select('id').where('resourceKey', '=', 'charge_updates'))
      .execute();
    const run = await customer.sync('charge_updates');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'source_rejected' } });
    expect(run.error?.message).toContain('30 days');
  });

  it('posts the same rows to a webhook, as the spec itself says', async () => {
    const { stack, upstream, receiver } = shared();
    const document = specDocument('stripe');
    await using posted = await connectCustomer(stack, {
      document: { ...document, metadata: { key: 'stripe-posted', name: 'Stripe', version: '2.1.0' } },
      keepsDestination: true,
      params: {
        apiUrl: upstream.url,
        startDate: new Date(start * 1000).toISOString().slice(0, 10),
        sinkUrl: receiver.url,
      },
      secrets: { secretKey, sinkSecret: hookSecret },
    });
    const run = await posted.sync('charges');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: stripe.charges.length } });
    const rows = receiver.rows('charges').map(({ data }) => ({ ...data, amount: Number(data['amount']).toFixed(3) }));
    const missing = { customer_id: null, product: null };
    const byId = rows.map((row) => ({ ...missing, ...row })).toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
    expect(byId).toEqual(expectedRows());
    expect(receiver.unverified).toEqual([]);
    expect(await posted.sync('charge_updates')).toMatchObject({ status: 'succeeded' });
    expect(new Set(receiver.posts.flatMap(({ batch }) => batch.records.map(({ op }) => op)))).toEqual(
      new Set(['upsert', 'update']),
    );
  });

  it('puts the connection in error when Stripe refuses the key', async () => {
    const { stack } = shared();
    const secrets = { secretKey: 'sk_test_revoked' };
    await stack.org.call('PATCH', `/connections/${customer.connectionId}`, { body: { secrets } });
    const run = await customer.sync('charges');
    expect(run).toMatchObject({ status: 'failed', error: { message: 'Stripe refused the key' } });
    const { body } = await stack.org.call('GET', `/connections/${customer.connectionId}`);
    expect(body.status).toBe('error');
  });
});
