/** Promises of the types, which the compiler keeps: this file is checked and never run. */
import type openapi from '../../../openapi.json';
import type { Client, OperationName, WebhookEvent } from './index.ts';
import type { Method } from './operations.ts';

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** The names of the operations below the versioned base, by the document itself. */
type DocumentPaths = Omit<(typeof openapi)['paths'], '/health' | '/health/ready'>;
type NamesOf<Path> = Path extends keyof DocumentPaths
  ? `${Uppercase<Extract<keyof DocumentPaths[Path], string>>} ${Path}`
  : never;
type DocumentName = NamesOf<keyof DocumentPaths>;
/** The paths that the methods of the client take, with their methods. */
type CallableName = { [M in Method]: `${M} ${Parameters<Client[Lowercase<M>]>[0]}` }[Method];

/** The client has each operation and each event of the document, and no other. */
export const complete: readonly true[] = [
  true satisfies Equal<DocumentName, OperationName>,
  true satisfies Equal<CallableName, OperationName>,
  true satisfies Equal<WebhookEvent['type'], keyof (typeof openapi)['webhooks']>,
];

/** Each call below the first of its kind has one mistake. */
export async function mistakes(client: Client): Promise<void> {
  const params = { id: 'con_1' };
  await client.post('/connections/{id}/sync', { params, body: { resource: 'contacts' } });
  // @ts-expect-error: the body is missing
  await client.post('/connections/{id}/sync', { params });
  // @ts-expect-error: the parameter of the path is missing
  await client.post('/connections/{id}/sync', { body: { resource: 'contacts' } });
  // @ts-expect-error: the resource is missing
  await client.post('/connections/{id}/sync', { params, body: {} });
  // @ts-expect-error: a resource has a name
  await client.post('/connections/{id}/sync', { params, body: { resource: 7 } });
  // @ts-expect-error: a body has no such field
  await client.post('/connections/{id}/sync', { params, body: { resource: 'contacts', forced: true } });
  // @ts-expect-error: there is no such path
  await client.post('/connections/{id}/snyc', { params, body: { resource: 'contacts' } });
  // @ts-expect-error: this path has no such method
  await client.put('/connections', { body: {} });

  await client.get('/runs');
  await client.get('/runs', { query: { status: 'failed' } });
  // @ts-expect-error: no run has this status
  await client.get('/runs', { query: { status: 'lost' } });
  // @ts-expect-error: this query is required
  await client.get('/quarantine');

  const { kind } = await client.post('/workspaces', { body: { name: 'Europe', kind: 'prod' } });
  true satisfies Equal<typeof kind, 'dev' | 'staging' | 'prod'>;
  // @ts-expect-error: no workspace is of this kind
  await client.post('/workspaces', { body: { name: 'Europe', kind: 'production' } });

  for await (const { statusCode } of client.each('/runs/{id}/calls', { params: { id: 'run_1' } })) {
    true satisfies Equal<typeof statusCode, number | null>;
  }
  // @ts-expect-error: this is no list
  client.each('/runs/{id}', { params: { id: 'run_1' } });

  const metadata = { key: 'acme-crm', name: 'Acme CRM', version: '1.0.0' };
  await client.post('/specs', { body: { metadata, resources: [], 'x-note': 1 } });
  // @ts-expect-error: a typing error in a spec
  await client.post('/specs', { body: { metadata, resorces: [] } });
}

/** The type of an event decides what it is about. */
export function about(event: WebhookEvent): string {
  if (event.type === 'run.failed') return event.data.error.message;
  // @ts-expect-error: only some events are about a run
  return event.data.run.id;
}
