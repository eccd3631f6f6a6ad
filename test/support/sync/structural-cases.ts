/** A change to the minimal spec, and the issues that the validator reports for it. */
export interface Case {
  readonly rule: string;
  readonly changes: Readonly<Record<string, unknown>>;
  /** `code path`, in the order reported. */
  readonly issues: readonly string[];
}

const grant = {
  kind: 'oauth2_authorization_code',
  authorizeUrl: 'https://a.test/a',
  tokenUrl: 'https://a.test/t',
  clientId: 'x',
};

/** An incremental read that is valid. */
export const incremental = { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' };

/** Documents whose form is wrong at one place: a missing, mistyped or unknown property. */
export const structural: readonly Case[] = [
  { rule: 'a missing property', changes: { 'metadata.version': undefined }, issues: ['schema metadata.version'] },
  { rule: 'a missing block', changes: { metadata: undefined }, issues: ['schema metadata'] },
  { rule: 'no resources', changes: { resources: [] }, issues: ['schema resources'] },
  { rule: 'a mistyped property', changes: { 'metadata.name': 5 }, issues: ['schema metadata.name'] },
  { rule: 'a list for an object', changes: { 'http.headers': [] }, issues: ['schema http.headers'] },
  { rule: 'an unknown property', changes: { resorces: [] }, issues: ['schema resorces'] },
  {
    rule: 'several unknown properties of one object',
    changes: { 'resources.0.request.a': 1, 'resources.0.request.b': 2 },
    issues: ['schema resources.0.request.a', 'schema resources.0.request.b'],
  },
  {
    rule: 'a property of another auth kind',
    changes: { auth: { kind: 'oauth2_client_credentials', tokenUrl: 'https://a.test/t', clientSecret: 's' } },
    issues: ['schema auth.clientId'],
  },
  {
    rule: 'a client without a secret that says it has one',
    changes: { auth: grant },
    issues: ['schema auth.clientSecret'],
  },
  {
    rule: 'the same in the auth of a resource',
    changes: { auth: { ...grant, clientAuth: 'none' }, 'resources.0.auth': grant },
    issues: ['schema resources.0.auth.clientSecret'],
  },
  { rule: 'a bad enum value', changes: { 'auth.kind': 'magic' }, issues: ['schema auth.kind'] },
  { rule: 'a bad onInvalid', changes: { 'resources.0.onInvalid': 'x' }, issues: ['schema resources.0.onInvalid'] },
  {
    rule: 'an unknown format version',
    changes: { formatVersion: 2 },
    issues: ['schema formatVersion'],
  },
  {
    rule: 'records that is no plain path',
    changes: { 'resources.0.response.records': 'edges[0].node' },
    issues: ['schema resources.0.response.records'],
  },
  {
    rule: 'a table name of the server',
    changes: { 'resources.0.target.table': 'pg_class' },
    issues: ['schema resources.0.target.table'],
  },
  {
    rule: 'a column name that breaks out',
    changes: { 'resources.0.target.columns': { 'x]; drop table y; --': {} } },
    issues: ['schema resources.0.target.columns.x]; drop table y; --'],
  },
  {
    rule: 'a duration with months',
    changes: { 'resources.0.incremental': { ...incremental, settle: 'P1M' } },
    issues: ['schema resources.0.incremental.settle'],
  },
  {
    rule: 'a time format with an unknown directive',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, format: '%Y %Q' } } },
    issues: ['schema resources.0.incremental.cursor.format'],
  },
  {
    rule: 'a time format that names a part of a time twice',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, format: '%F %d' } } },
    issues: ['schema resources.0.incremental.cursor.format'],
  },
  {
    rule: 'a time zone that is none of the IANA database',
    changes: { 'resources.0.incremental': { ...incremental, cursor: { ...incremental.cursor, timezone: '+01:00' } } },
    issues: ['schema resources.0.incremental.cursor.timezone'],
  },
  {
    rule: 'too many resources',
    changes: { resources: Array.from({ length: 201 }, (_, index) => ({ key: `r${index}`, primaryKey: 'id' })) },
    issues: ['schema resources'],
  },
];

/** Texts of the minimal spec that the validator refuses, by their place. */
export const refusedTexts = [
  {
    path: 'metadata.version',
    values: [
      '1.0',
      '01.0.0',
      '1.0.0-01',
      '',
      '^1.0.0',
      '99999999999999999999.0.0',
      '１.0.0',
      1,
      'v1.0.0',
      ' 1.0.0',
      '1.0.0+b',
    ],
  },
  {
    path: 'metadata.key',
    values: ['', '..', 'constructor', 'k\u0001', 'ключ', 5, 'a/b', `k${'x'.repeat(63)}`],
  },
  {
    path: 'resources.0.target.table',
    values: ['x]; drop table y; --', '', 't'.repeat(64), 'information_schema.tables', 'sys', '*', 't\u200b', 'PG_x'],
  },
] as const;
