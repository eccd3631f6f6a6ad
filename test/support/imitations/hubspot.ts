/**
 * HubSpot's contacts as its API serves them: a search by POST that gives at most 10,000 results whatever it counts,
 * associations read in batches with 207 when some have none, owners and companies, an unordered list of archived
 * contacts, and an OAuth token endpoint.
 */
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';

/** A contact. */
export interface Contact {
  readonly id: string;
  readonly properties: Readonly<Record<string, string | null>>;
  readonly updatedAt: string;
  readonly archived: boolean;
}

/** The API; tests change its maps as sales people would. */
export interface HubSpot {
  /** By id, archived ones too. */
  readonly contacts: Map<string, Contact>;
  readonly owners: {
    readonly id: string;
    readonly email: string;
    readonly firstName: string;
    readonly lastName: string;
  }[];
  /** By id; `broken`: asking for it is refused. */
  readonly companies: Map<string, { readonly name: string; readonly domain: string } | 'broken'>;
  /** Company by contact. */
  readonly companyOf: Map<string, string>;
  /** Searches so far that asked beyond the cap. */
  readonly beyondCap: () => number;
  reply(request: UpstreamRequest): UpstreamResponse;
}

/** Results of one search, whatever its total. */
const searchMax = 10_000;

/** Starts empty. The only grant is `code`, the only access token `accessToken`. */
export function imitateHubSpot({
  code,
  accessToken,
}: {
  readonly code: string;
  readonly accessToken: string;
}): HubSpot {
  const contacts = new Map<string, Contact>();
  const owners: HubSpot['owners'] = [];
  const companies: HubSpot['companies'] = new Map();
  const companyOf = new Map<string, string>();
  let beyond = 0;

  const token = (form: URLSearchParams): UpstreamResponse => {
    const known =
      form.get('grant_type') === 'authorization_code'
        ? form.get('code') === code
        : form.get('refresh_token') === 'refresh-1';
    if (!known || form.get('client_secret') !== 'client-secret') return json(400, { error: 'invalid_grant' });
    return json(200, {
      access_token: accessToken,
      refresh_token: 'refresh-1',
      token_type: 'bearer',
      expires_in: 1800,
      hub_id: 7,
    });
  };

  const search = (body: Search): UpstreamResponse => {
    const { limit = 10, after = '0', filterGroups = [], properties = [] } = body;
    const start = Number(after);
    if (start + limit > searchMax) {
      beyond += 1;
      return json(400, { message: 'paging through more than 10000 results is not supported' });
    }
    const filters = filterGroups.flatMap((group) => group.filters);
    const found = [...contacts.values()]
      .filter(
        ({ archived, updatedAt }) => !archived && filters.every((filter) => matches(filter, Date.parse(updatedAt))),
      )
      .toSorted((a, b) => Date.parse(a.updatedAt) - Date.parse(b.updatedAt) || (a.id < b.id ? -1 : 1));
    const results = found.slice(start, start + limit).map((contact) => ({
      ...contact,
      properties: Object.fromEntries(properties.map((name) => [name, contact.properties[name] ?? null])),
    }));
    const next = start + limit;
    const paging = next < Math.min(found.length, searchMax) ? { paging: { next: { after: String(next) } } } : {};
    return json(200, { total: found.length, results, ...paging });
  };

  const associations = (ids: readonly string[]): UpstreamResponse => {
    const results = ids.flatMap((id) => {
      const company = companyOf.get(id);
      return company === undefined ? [] : [{ from: { id }, to: [{ toObjectId: Number(company) }] }];
    });
    return json(results.length === ids.length ? 200 : 207, { status: 'COMPLETE', results });
  };

  const company = (id: string): UpstreamResponse => {
    const found = companies.get(id);
    if (found === 'broken') return json(400, { message: 'this company cannot be read' });
    return found ? json(200, { id, properties: found }) : json(404, { message: 'resource not found' });
  };

  return {
    contacts,
    owners,
    companies,
    companyOf,
    beyondCap: () => beyond,
    reply({ url: asked, headers, body, method }) {
      const url = new URL(asked, 'http://hubspot');
      const is = (wanted: string, path: string) => method === wanted && url.pathname === path;
      if (is('POST', '/oauth/v1/token')) return token(new URLSearchParams(body));
      if (headers['authorization'] !== `Bearer ${accessToken}`) return json(401, { message: 'expired' });
      if (is('POST', '/crm/v3/objects/contacts/search')) return search(JSON.parse(body));
      if (is('POST', '/crm/v4/associations/contacts/companies/batch/read')) return associations(idsIn(body));
      if (is('GET', '/crm/v3/owners')) return listPage(owners, url);
      const archived = url.searchParams.get('archived') === 'true';
      if (is('GET', '/crm/v3/objects/contacts'))
        return listPage(
          [...contacts.values()].filter((contact) => contact.archived === archived),
          url,
        );
      const [, id] = /^\/crm\/v3\/objects\/companies\/(\w+)$/.exec(url.pathname) ?? [];
      return id === undefined ? json(404, { message: 'unknown path' }) : company(id);
    },
  };
}

interface Filter {
  readonly propertyName: string;
  readonly operator: string;
  readonly value: string | number;
}

interface Search {
  readonly limit?: number;
  readonly after?: string | number;
  readonly filterGroups?: readonly { readonly filters: readonly Filter[] }[];
  readonly properties?: readonly string[];
}

/** Values of filters are epoch milliseconds. */
function matches({ operator, value }: Filter, updatedMs: number): boolean {
  return operator === 'GTE' ? updatedMs >= Number(value) : updatedMs < Number(value);
}

const idsIn = (body: string): readonly string[] => JSON.parse(body).inputs.map(({ id }: { readonly id: string }) => id);

function listPage(items: readonly object[], url: URL): UpstreamResponse {
  const limit = Number(url.searchParams.get('limit') ?? 10);
  const start = Number(url.searchParams.get('after') ?? 0);
  const paging = start + limit < items.length ? { paging: { next: { after: String(start + limit) } } } : {};
  return json(200, { results: items.slice(start, start + limit), ...paging });
}

const json = (status: number, body: unknown): UpstreamResponse => ({ status, body: JSON.stringify(body) });
