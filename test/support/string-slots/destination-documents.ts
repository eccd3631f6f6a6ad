import { readFileSync } from 'node:fs';
import { type Addresses, type BaseDocument, type Json, param, spec } from './base-document.ts';

const certificate = readFileSync(new URL('../../fixtures/tls/localhost.crt', import.meta.url), 'utf8');

/** One spec for each kind of destination. */
export function destinationDocuments(at: Addresses): readonly BaseDocument[] {
  const { database } = at;
  const destination = (kind: string, ends: string, block: Json, name = `to-${kind}`): BaseDocument => ({
    name,
    document: spec(name, at, {
      destination: { kind, ...block },
      connectionParams: [
        param('password', { secret: true }),
        param('host', { required: false }),
        param('port', { type: 'integer', required: false }),
        param('client', { required: false }),
      ],
    }),
    params: { host: database.hostname },
    secrets: { password: kind === 'webhook' ? at.webhookSecret : decodeURIComponent(database.password) || 'none' },
    ends,
    changed: ['destination'],
  });
  return [
    destination('postgres', 'succeeded', {
      host: '{{ params.host }}',
      port: `{{ ${database.port} }}`,
      database: database.pathname.slice(1),
      user: decodeURIComponent(database.username),
      password: '{{ secrets.password }}',
      ssl: 'disable',
      ca: certificate,
      schema: 'public',
    }),
    destination('sqlserver', 'destination_login', {
      host: '127.0.0.1',
      port: `{{ ${at.sqlServerPort} }}`,
      database: 'd',
      user: 'u',
      password: '{{ secrets.password }}',
      encrypt: false,
      ca: certificate,
      schema: 'dbo',
    }),
    // Two of its texts are wrong, so that it never gets as far as the network: a test has nothing to ask Entra ID.
    destination(
      'sqlserver',
      'destination_rejected',
      {
        host: '127.0.0.1',
        database: 'd',
        authentication: {
          kind: 'entra_client_credentials',
          tenantId: 'no Entra tenant',
          clientId: '{{ params.client }}',
          clientSecret: '{{ secrets.password }}',
        },
      },
      'to-sqlserver-by-entra',
    ),
    destination('webhook', 'succeeded', {
      url: at.webhook,
      signingSecret: '{{ secrets.password }}',
      headers: { 'X-Tenant': 'acme' },
    }),
  ];
}
