import { isJsonObject } from '../../../core/json/is-json-object.ts';
import type { JsonObject } from '../../../core/json/json-object.ts';
import type { CatalogueConnector } from '../../../core/resources/catalogue.ts';

/** Connectors of the catalogue declare no destination; each of these can be added to one. */
export const destinationKinds = ['default', 'postgres', 'sqlserver', 'webhook'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

interface Added {
  readonly connectionParams: readonly object[];
  readonly destination: object;
  /** Required params, for the tests in the spec. */
  readonly testParams: object;
}

const text = (key: string, label: string, more: object = {}) => ({ key, type: 'string', label, ...more });

const additions: Readonly<Record<Exclude<DestinationKind, 'default'>, (key: string) => Added>> = {
  postgres: (key) => ({
    connectionParams: [
      text('databaseUrl', 'Address of the PostgreSQL database', {
        secret: true,
        description: 'postgres://user:password@host:5432/database',
      }),
    ],
    destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}', schema: key },
    testParams: {},
  }),
  sqlserver: (key) => ({
    connectionParams: [
      text('databaseHost', 'Host of SQL Server', { format: 'hostname' }),
      text('databaseName', 'Database'),
      text('databaseUser', 'User of the database'),
      text('databasePassword', 'Password of the database', { secret: true }),
    ],
    destination: {
      kind: 'sqlserver',
      host: '{{ params.databaseHost }}',
      database: '{{ params.databaseName }}',
      user: '{{ params.databaseUser }}',
      password: '{{ secrets.databasePassword }}',
      schema: key,
    },
    testParams: { databaseHost: 'db.test', databaseName: 'test', databaseUser: 'test' },
  }),
  webhook: () => ({
    connectionParams: [
      { key: 'webhookUrl', type: 'url', label: 'Address that receives the records' },
      text('webhookSecret', 'Secret that signs the requests', {
        secret: true,
        description: 'whsec_ and 24 to 64 bytes as base64',
      }),
    ],
    destination: { kind: 'webhook', url: '{{ params.webhookUrl }}', signingSecret: '{{ secrets.webhookSecret }}' },
    testParams: { webhookUrl: 'https://receiver.test/' },
  }),
};

/** The spec of a connector with a destination whose address each connection supplies. */
export function withDestination(
  { key, spec }: Pick<CatalogueConnector, 'key' | 'spec'>,
  kind: DestinationKind,
): object {
  if (kind === 'default') return spec;
  const { connectionParams, destination, testParams } = additions[kind](key);
  const tests = listOf(spec['tests']).map((test) => ({
    ...test,
    params: { ...Object(test['params']), ...testParams },
  }));
  return { ...spec, connectionParams: [...listOf(spec['connectionParams']), ...connectionParams], destination, tests };
}

const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
