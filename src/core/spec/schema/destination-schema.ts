import * as v from 'valibot';
import { mapOf } from '../../json/json-object.ts';
import { ColumnTypeText } from './column-type.ts';
import { brakeDefaults, Count, Ratio } from './deletes-schema.ts';
import { entraHosts } from './entra-hosts.ts';
import { field, wholeNumber } from './field.ts';
import { HeaderTemplates, Template } from './http-schema.ts';
import { ColumnName, FieldPath, TableName } from './names.ts';
import { strictObject } from './strict-object.ts';

const Port = v.union([wholeNumber(1, 65_535), Template], 'expected a port number or a template');

const EntraAuthentication = strictObject({
  kind: field(v.literal('entra_client_credentials'), 'The client credentials of an application of Entra ID.'),
  tenantId: field(Template, 'The id of the Entra tenant, or one of its domains.', '{{ params.tenantId }}'),
  clientId: field(Template, "The application's id.", '{{ params.clientId }}'),
  clientSecret: field(Template, "The application's secret.", '{{ secrets.clientSecret }}'),
  authorityHost: field(
    v.exactOptional(v.picklist(entraHosts)),
    'The sign-in host of the cloud that the Entra tenant is in. Absent: that of the public cloud.',
  ),
});

const caText = 'Certificates that the server may be signed by, as PEM text. Absent: the public ones.';
const ca = '{{ params.ca }}';

/** Behavior of a run whose database lacks a batch that it had committed. */
const OnBehind = v.picklist(['fail', 'start_over']);
export type OnBehind = v.InferOutput<typeof OnBehind>;

const onBehind = field(
  v.optional(OnBehind, 'fail'),
  'What a run does whose database lacks batches that it had committed, because it was restored or crashed. `fail`: it ends with ' +
    '`destination_behind`, which says how to deliver them again. `start_over`: everything is read and delivered again.',
);

export const DestinationSpec = v.pipe(
  v.variant('kind', [
    strictObject({
      kind: field(v.literal('postgres'), 'Rows in PostgreSQL: one transaction per batch, nothing twice.'),
      url: field(
        v.exactOptional(Template),
        'The whole address. Either this, or `host` with `database`, `user` and `password`.',
        '{{ secrets.databaseUrl }}',
      ),
      host: field(v.exactOptional(Template), 'The host, where there is no `url`.', '{{ params.host }}'),
      port: field(v.optional(Port, 5432), 'The port, a number or a template.'),
      database: field(v.exactOptional(Template), 'The database, where there is no `url`.', '{{ params.database }}'),
      user: field(v.exactOptional(Template), 'The user, where there is no `url`.', '{{ params.user }}'),
      password: field(v.exactOptional(Template), 'The password, where there is no `url`.', '{{ secrets.password }}'),
      ssl: field(
        v.optional(v.picklist(['verify-full', 'require', 'disable']), 'verify-full'),
        'As in libpq. `require` encrypts without checking the certificate; `disable` works only for addresses on EGRESS_ALLOW.',
      ),
      ca: field(v.exactOptional(Template), caText, ca),
      schema: field(
        v.exactOptional(TableName),
        'The schema of the tables. Absent: the first one of the search path.',
        'acme',
      ),
      onBehind,
    }),
    strictObject({
      kind: field(v.literal('sqlserver'), 'Rows in SQL Server: one transaction per batch, nothing twice.'),
      host: field(Template, 'The host.', '{{ params.host }}'),
      port: field(v.optional(Port, 1433), 'The port, a number or a template.'),
      database: field(Template, 'The database.', '{{ params.database }}'),
      user: field(
        v.exactOptional(Template),
        'The user. Either `user` with `password`, or `authentication`.',
        '{{ params.user }}',
      ),
      password: field(v.exactOptional(Template), 'The password of `user`.', '{{ secrets.password }}'),
      authentication: field(
        v.exactOptional(EntraAuthentication),
        'An application of Entra ID that signs in instead of a user; only with `encrypt`.',
        {
          kind: 'entra_client_credentials',
          tenantId: '{{ params.tenantId }}',
          clientId: '{{ params.clientId }}',
          clientSecret: '{{ secrets.clientSecret }}',
        },
      ),
      encrypt: field(
        v.optional(v.union([v.boolean(), v.literal('strict')], 'expected true, false or "strict"'), true),
        'Whether the session is encrypted. `strict`: TLS before the first message (TDS 8). False works only for addresses on EGRESS_ALLOW.',
      ),
      ca: field(v.exactOptional(Template), caText, ca),
      schema: field(v.optional(TableName, 'dbo'), 'The schema of the tables.'),
      onBehind,
    }),
    strictObject({
      kind: field(
        v.literal('webhook'),
        'Batches of records by POST, signed by Standard Webhooks. A repeated request is the same byte for byte, under the same id.',
      ),
      url: field(
        Template,
        'The address of the receiver. A query in it is a credential: with another one it is the same receiver, which gets nothing again.',
        '{{ params.sinkUrl }}',
      ),
      signingSecret: field(Template, 'The secret of the signature.', '{{ secrets.sinkSecret }}'),
      headers: field(
        v.optional(HeaderTemplates, {}),
        'Further headers of each request. Those that params fill, without secrets, tell receivers at one address apart: another value has everything delivered again.',
        {
          'X-Tenant': '{{ params.tenant }}',
        },
      ),
      batchSize: field(v.optional(wholeNumber(1, 1_000), 500), 'The greatest number of records of one request.'),
      maxBatchBytes: field(
        v.optional(wholeNumber(1024, 4_194_304), 1_048_576),
        'The greatest number of bytes of one request; a record that alone is larger is quarantined.',
      ),
      timeoutMs: field(
        v.optional(wholeNumber(1000, 120_000), 30_000),
        'Milliseconds in which the receiver must respond.',
      ),
      parallelism: field(
        v.optional(wholeNumber(1, 4), 1),
        'Concurrent requests of a batch; all versions of a record are sent one after the other.',
      ),
    }),
  ]),
  v.metadata({
    description:
      "Where records go: kind and options here, values by template from the connection's params and secrets.",
  }),
);
export type DestinationSpec = v.InferOutput<typeof DestinationSpec>;

/** The author's settings of one column; the rest follows from `validate.schema`. */
export const TargetColumn = strictObject({
  type: field(
    v.exactOptional(ColumnTypeText),
    'The type of the column. Absent: it follows from `validate.schema`, or from the values.',
    'numeric(18,4)',
  ),
  maxLength: field(
    v.exactOptional(wholeNumber(1, 10_485_760)),
    'The greatest number of characters of a text. Absent: no limit.',
    64,
  ),
  nullable: field(
    v.exactOptional(v.boolean()),
    'Whether a record may have null there; the table itself gets no NOT NULL. Absent: as `validate.schema` says, otherwise it may.',
  ),
  path: field(
    v.exactOptional(FieldPath),
    "Where the value is in the transformed record, as a dotted path. Absent: the property of the column's name.",
    'owner.email',
  ),
});
export type TargetColumn = v.InferOutput<typeof TargetColumn>;

export const Target = strictObject({
  table: field(v.exactOptional(TableName), 'The table. Absent: the key of the resource with `-` as `_`.', 'accounts'),
  schema: field(
    v.exactOptional(TableName),
    "The schema of the table. Absent: the destination's. Refused where the spec declares no destination and the deployment's default is a database: there each org has a schema of its own.",
    'crm',
  ),
  mode: field(
    v.optional(v.picklist(['upsert', 'append', 'update', 'replace']), 'upsert'),
    'How rows are written. `upsert`: one row per record, the latest version. `append`: one row per version. `update`: only the given columns of rows that exist. `replace`: a complete read replaces the table when it succeeds; only without `incremental`.',
  ),
  columns: field(
    v.optional(mapOf(ColumnName, TargetColumn), {}),
    'Settings of single columns by name; all others follow from the records. Columns of a new table are in the order of `validate.schema.properties`, then of the fields of the first record that has them.',
    { owner_email: { type: 'text', maxLength: 200, path: 'owner.email' } },
  ),
  evolve: field(
    v.optional(v.picklist(['add_columns', 'none']), 'add_columns'),
    'What happens with a field that has no column: it is added, or the field is left out.',
  ),
  onTypeConflict: field(
    v.optional(v.picklist(['quarantine', 'fail']), 'quarantine'),
    'What happens with a record whose value does not fit its column.',
  ),
  maxRatio: field(
    v.exactOptional(Ratio),
    `Of mode \`replace\`, the brake: if the table would lose more than this share of its rows, and at least \`minRecords\`, it stays as it is and the run is \`partial\`. So it is when the run read no record at all. 1: no brake. Absent: ${brakeDefaults.maxRatio}.`,
    0.5,
  ),
  minRecords: field(
    v.exactOptional(Count),
    `Of mode \`replace\`: fewer rows than this may be lost, unless the run read no record at all. Absent: ${brakeDefaults.minRecords}.`,
    100,
  ),
});
/** `table` is filled in by the resource: its key with `-` as `_`. */
export type Target = v.InferOutput<typeof Target> & { readonly table: string };
