import * as v from 'valibot';
import { FieldPath, isColumnName, TableName } from '../../json/property-names.ts';
import { mapOf, strictObject } from '../../strict-object.ts';
import { ColumnTypeText } from './column-type.ts';
import { entraHosts } from './entra-hosts.ts';
import { HeaderTemplates, Template } from './http-schema.ts';

const Port = v.union(
  [v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(65_535)), Template],
  'expected a port number or a template',
);

/** An application that is registered in a tenant of Entra ID, used instead of a user of the database server. */
const EntraAuthentication = strictObject({
  kind: v.literal('entra_client_credentials'),
  /** Its id, or one of its domains. */
  tenantId: Template,
  clientId: Template,
  clientSecret: Template,
  /** Of the cloud that the tenant is in; the public one unless given. */
  authorityHost: v.exactOptional(v.picklist(entraHosts)),
});

/** Where records go: kind and options here, values by template from the connection's params and secrets. */
export const DestinationSpec = v.variant('kind', [
  strictObject({
    kind: v.literal('postgres'),
    /** Either `url`, or host with database, user and password. */
    url: v.exactOptional(Template),
    host: v.exactOptional(Template),
    port: v.optional(Port, 5432),
    database: v.exactOptional(Template),
    user: v.exactOptional(Template),
    password: v.exactOptional(Template),
    /** As in libpq; `disable` works only for addresses on EGRESS_ALLOW. */
    ssl: v.optional(v.picklist(['verify-full', 'require', 'disable']), 'verify-full'),
    /** PEM text. */
    ca: v.exactOptional(Template),
    schema: v.exactOptional(TableName),
  }),
  strictObject({
    kind: v.literal('sqlserver'),
    host: Template,
    port: v.optional(Port, 1433),
    database: Template,
    /** Either `user` with `password`, or `authentication`. */
    user: v.exactOptional(Template),
    password: v.exactOptional(Template),
    authentication: v.exactOptional(EntraAuthentication),
    /** `strict`: TLS before the first message (TDS 8). False works only for addresses on EGRESS_ALLOW. */
    encrypt: v.optional(v.union([v.boolean(), v.literal('strict')], 'expected true, false or "strict"'), true),
    ca: v.exactOptional(Template),
    schema: v.optional(TableName, 'dbo'),
  }),
  strictObject({
    kind: v.literal('webhook'),
    url: Template,
    signingSecret: Template,
    headers: v.optional(HeaderTemplates, {}),
    /** Records of one request. */
    batchSize: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(1_000)), 500),
    /** Bytes of one request; a record that alone is larger is quarantined. */
    maxBatchBytes: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1024), v.maxValue(4_194_304)), 1_048_576),
    timeoutMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1000), v.maxValue(120_000)), 30_000),
    /** Concurrent requests of a batch; all versions of a record are sent one after the other. */
    parallelism: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(4)), 1),
  }),
]);
export type DestinationSpec = v.InferOutput<typeof DestinationSpec>;

const ColumnName = v.pipe(
  v.string(),
  v.check(isColumnName, 'expected 1 to 63 letters, digits or `_`, the first not a digit, and no column of the service'),
);

/** The author's settings of one column; the rest comes from `validate.schema`. */
export const TargetColumn = strictObject({
  type: v.exactOptional(ColumnTypeText),
  /** Characters; for text. */
  maxLength: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(10_485_760))),
  nullable: v.exactOptional(v.boolean()),
  /** Where the value is in the transformed record; absent: the property of the column's name. */
  path: v.exactOptional(FieldPath),
});
export type TargetColumn = v.InferOutput<typeof TargetColumn>;

/** The table of a resource. */
export const Target = strictObject({
  table: v.exactOptional(TableName),
  /** Absent: the destination's. */
  schema: v.exactOptional(TableName),
  mode: v.optional(v.picklist(['upsert', 'append', 'update', 'replace']), 'upsert'),
  columns: v.optional(mapOf(ColumnName, TargetColumn), {}),
  evolve: v.optional(v.picklist(['add_columns', 'none']), 'add_columns'),
  onTypeConflict: v.optional(v.picklist(['quarantine', 'fail']), 'quarantine'),
});
/** `table` is filled in by the resource: its key with `-` as `_`. */
export type Target = v.InferOutput<typeof Target> & { readonly table: string };
