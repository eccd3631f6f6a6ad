/**
 * Stripe's charges, products and events as its API serves them: lists newest first behind `starting_after`, at most 100
 * a page, `created` in whole seconds with inclusive and exclusive bounds, key as user name, 429 without a Retry-After.
 */
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';

/** A charge. */
export interface Charge {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: 'succeeded' | 'pending' | 'failed';
  readonly customer: string | { readonly id: string } | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly refunded: boolean;
  readonly amount_refunded: number;
}

/** An event about a charge. */
interface ChargeEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: Charge };
}

/** A product. */
interface Product {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly created: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The API; tests change its lists as merchants would. */
export interface Stripe {
  readonly charges: Charge[];
  readonly products: Product[];
  readonly events: ChargeEvent[];
  /** The next request gets 429. */
  refuseNext(): void;
  reply(request: UpstreamRequest): UpstreamResponse;
}

/** Starts empty; `secretKey` is the only key it takes. */
export function imitateStripe({ secretKey }: { readonly secretKey: string }): Stripe {
  const charges: Charge[] = [];
  const products: Product[] = [];
  const events: ChargeEvent[] = [];
  let refusing = false;
  const authorization = `Basic ${Buffer.from(`${secretKey}:`).toString('base64')}`;
  return {
    charges,
    products,
    events,
    refuseNext() {
      refusing = true;
    },
    reply(request) {
      if (request.headers['authorization'] !== authorization) return error(401, 'Invalid API Key provided');
      if (refusing) {
        refusing = false;
        return error(429, 'Too many requests');
      }
      const url = new URL(request.url, 'http://stripe');
      const query = url.searchParams;
      switch (url.pathname) {
        case '/v1/charges':
          return list(charges, query);
        case '/v1/products':
          return list(
            products.filter(({ active }) => String(active) === (query.get('active') ?? String(active))),
            query,
          );
        case '/v1/events': {
          const types = query.getAll('types[]');
          return list(
            events.filter(({ type }) => types.length === 0 || types.includes(type)),
            query,
          );
        }
        default:
          return error(404, 'Unrecognized request URL');
      }
    },
  };
}

/** Newest first; of equal seconds the one that was made later comes first. */
function list(
  items: readonly { readonly id: string; readonly created: number }[],
  query: URLSearchParams,
): UpstreamResponse {
  const bound = (name: string, otherwise: number) => Number(query.get(`created[${name}]`) ?? otherwise);
  const within = items
    .map((item, made) => ({ item, made }))
    .filter(({ item }) => item.created >= bound('gte', 0) && item.created < bound('lt', Number.POSITIVE_INFINITY))
    .toSorted((a, b) => b.item.created - a.item.created || b.made - a.made)
    .map(({ item }) => item);
  const after = query.get('starting_after');
  const start = after === null ? 0 : within.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) return error(400, `No such object: '${after}'`);
  const limit = Math.min(100, Number(query.get('limit') ?? 10));
  const data = within.slice(start, start + limit);
  return { body: JSON.stringify({ object: 'list', data, has_more: start + limit < within.length }) };
}

const error = (status: number, message: string): UpstreamResponse => ({
  status,
  body: JSON.stringify({ error: { message } }),
});
