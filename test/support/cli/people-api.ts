import { type LocalServer, serveHttp } from '../upstream/guarded-client.ts';

/** Of requests that {@link PeopleApi} accepts. */
export const peopleKey = 'key-of-people-7431';

/** A small API of people, as an author meets one: a key in a header, pages by a token; person 3 has no name. */
export interface PeopleApi extends LocalServer {
  readonly hostPort: string;
  /** Path and query of each request. */
  readonly asked: string[];
}

const people = Array.from({ length: 6 }, (_, index) => ({
  id: index + 1,
  full_name: index === 2 ? null : `Person ${index + 1}`,
  email: `Person${index + 1}@X.TEST`,
  updated_at: `2026-01-0${index + 1}T00:00:00Z`,
  is_test: index === 1,
  // An API may echo what it was sent.
  seen_with: peopleKey,
}));

/** Starts it: `/slow` never responds, `/login` and `/token` give a token that `/people` accepts. */
export async function startPeopleApi(): Promise<PeopleApi> {
  const asked: string[] = [];
  const server = await serveHttp((request, response) => {
    const url = new URL(request.url ?? '/', 'http://people');
    asked.push(url.pathname + url.search);
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/slow') return;
    if (url.pathname === '/token' || url.pathname === '/login')
      return send(200, { access_token: peopleKey, token: peopleKey, token_type: 'Bearer', expires_in: 3600 });
    const { authorization, 'x-api-key': apiKey } = request.headers;
    if (apiKey !== peopleKey && authorization !== `Bearer ${peopleKey}`) return send(401, { error: 'wrong key' });
    if (url.pathname === '/broken') return send(400, { error: 'no such thing' });
    const from = Number(url.searchParams.get('after') ?? 0);
    const size = Number(url.searchParams.get('limit') ?? 4);
    const next = from + size < people.length ? String(from + size) : null;
    return send(200, { result: people.slice(from, from + size), next });
  });
  return { ...server, hostPort: `127.0.0.1:${server.port}`, asked };
}

/** A spec of it, as YAML with comments. `more`: lines of the document besides. */
export const peopleSpec = ({ auth = apiKeyAuth, path = '/people', more = '' } = {}): string => `# of the people
metadata: { key: people, name: People, version: 1.0.0 }
connectionParams:
  - { key: apiUrl, type: url }
  - { key: apiKey, type: string, secret: true }  # ask the people
  - { key: databaseUrl, type: string, secret: true }
auth: ${auth}
http: { baseUrl: '{{ params.apiUrl }}' }
resources:
  - key: people
    primaryKey: id
    request: { path: ${path}, query: { limit: '{{ page.size }}' } }
    response: { records: result }
    pagination: { kind: cursor, next: body.next, size: 4, inject: { in: query, name: after } }
    filter: is_test = false
    transform: "{ 'id': id, 'name': full_name, 'email': $lowercase(email) }"
    validate:
      schema:
        type: object
        required: [id, name]
        properties: { id: { type: integer }, name: { type: string }, email: { type: string } }
    onInvalid: quarantine
destination: { kind: postgres, url: '{{ secrets.databaseUrl }}', ssl: disable }
${more}`;

const apiKeyAuth = "{ kind: api_key, in: header, name: X-Api-Key, value: '{{ secrets.apiKey }}' }";
