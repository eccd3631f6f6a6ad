import parseVersion from 'semver/functions/parse.js';
import * as v from 'valibot';
import { Auth } from './auth-schema.ts';
import { DestinationSpec } from './destination-schema.ts';
import { field } from './field.ts';
import { HttpSettings } from './http-schema.ts';
import { Lookup } from './lookup-schema.ts';
import { SpecKey } from './names.ts';
import { ConnectionParam } from './param-schema.ts';
import { Resource } from './resource-schema.ts';
import { strictObject } from './strict-object.ts';
import { SpecTest, testMsMax, testsMsMax } from './test-schema.ts';
import { WebUrl } from './web-url.ts';

/** A semantic version without build part: `1.0.0+a` and `1.0.0+b` would compare equal. */
export const SpecVersion = v.pipe(
  v.string(),
  v.maxLength(100),
  v.check(
    (text) => parseVersion(text)?.version === text,
    'expected a semantic version without build part, such as 1.4.0 or 2.0.0-beta.1',
  ),
);

/** The same pattern for editors; numbers beyond 2^53 are left to the check. */
const versionPattern = (() => {
  const number = String.raw`(?:0|[1-9]\d{0,15})`;
  const identifier = String.raw`(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)`;
  return String.raw`^${number}\.${number}\.${number}(?:-${identifier}(?:\.${identifier})*)?$`;
})();

const Metadata = strictObject({
  key: field(SpecKey, 'The name of the connector, the same in all its versions and part of addresses.', 'acme-crm'),
  name: field(v.pipe(v.string(), v.minLength(1), v.maxLength(200)), 'The name shown to people.', 'Acme CRM'),
  version: field(
    v.pipe(SpecVersion, v.metadata({ pattern: versionPattern })),
    'A semantic version without build part. A published version never changes: a change of the spec is a new version.',
    '1.4.0',
  ),
  description: field(
    v.exactOptional(v.string()),
    'What the connector reads, for people.',
    'Accounts and notes of Acme CRM',
  ),
  docsUrl: field(
    v.exactOptional(WebUrl),
    'Where people find more: an http or https URL.',
    'https://docs.acme.example/api',
  ),
  iconUrl: field(
    v.exactOptional(WebUrl),
    'A picture for lists: an http or https URL.',
    'https://acme.example/icon.svg',
  ),
  tags: field(v.optional(v.pipe(v.array(v.string()), v.maxLength(100)), []), 'Words to find the connector by.', [
    'crm',
  ]),
});

/** Parsing fills in every default; the stored document stays as given. Cross-part rules are in check.ts. */
export const ConnectorSpec = strictObject({
  formatVersion: field(v.optional(v.literal(1), 1), 'The version of this format. There is only 1.'),
  metadata: field(Metadata, 'What the connector is called, and which version of it this document is.', {
    key: 'acme-crm',
    name: 'Acme CRM',
    version: '1.0.0',
  }),
  connectionParams: field(
    v.pipe(v.optional(v.array(ConnectionParam), []), v.metadata({ maxItems: 200 })),
    'The values that each connection supplies, in the order in which people enter them.',
    [{ key: 'token', type: 'string', secret: true }],
  ),
  auth: field(
    v.optional(Auth, { kind: 'none' }),
    'How requests authenticate. A resource can have its own. Only here and in `destination` may expressions use `secrets`.',
    { kind: 'bearer', token: '{{ secrets.token }}' },
  ),
  http: field(v.optional(HttpSettings, {}), 'What all requests of the connector share: address, limits, retries.', {
    baseUrl: 'https://api.acme.example/v2',
  }),
  lookups: field(
    v.pipe(v.optional(v.array(Lookup), []), v.metadata({ maxItems: 100 })),
    'Tables that every resource sees as `$lookups.<assignTo>`. Each is loaded at most once per run, before the first page.',
    [{ assignTo: 'countries', kind: 'static', table: { Germany: 'DE' } }],
  ),
  resources: field(
    v.pipe(v.array(Resource), v.minLength(1), v.metadata({ maxItems: 200 })),
    'The kinds of record that the connector reads. A run reads one of them.',
    [{ key: 'accounts', primaryKey: 'id', request: { path: '/accounts' } }],
  ),
  destination: field(
    v.exactOptional(DestinationSpec),
    "Where records go. Absent: the deployment's default destination; a sync is refused where there is none.",
    { kind: 'postgres', url: '{{ secrets.databaseUrl }}' },
  ),
  tests: field(
    v.pipe(v.optional(v.array(SpecTest), []), v.metadata({ maxItems: 50 })),
    `Runs against mocked responses. \`validate\` executes them, and a draft is published only when all pass. Each may take ${testMsMax / 1000} s, all of them ${testsMsMax / 1000} s.`,
    [],
  ),
});
export type ConnectorSpec = v.InferOutput<typeof ConnectorSpec>;

export type { Resource } from './resource-schema.ts';
