import semver from 'semver';
import * as v from 'valibot';
import { SpecKey } from '../../json/property-names.ts';
import { strictObject } from '../../strict-object.ts';
import { Auth } from './auth-schema.ts';
import { DestinationSpec } from './destination-schema.ts';
import { HttpSettings } from './http-schema.ts';
import { Lookup } from './lookup-schema.ts';
import { ConnectionParam } from './param-schema.ts';
import { Resource } from './resource-schema.ts';
import { SpecTest } from './test-schema.ts';

const WebUrl = v.pipe(
  v.string(),
  v.maxLength(2000),
  v.url('expected a URL'),
  v.regex(/^https?:/i, 'expected an http or https URL'),
  v.check((text) => !/^https?:[/\\]*[^/?#\\]*@/i.test(text), 'expected a URL without user name and password'),
);

/** A semantic version without build part: `1.0.0+a` and `1.0.0+b` would compare equal. */
export const SpecVersion = v.pipe(
  v.string(),
  v.maxLength(100),
  v.check(
    (text) => semver.parse(text)?.version === text,
    'expected a semantic version without build part, such as 1.4.0 or 2.0.0-beta.1',
  ),
);

/**
 * A connector definition, format version 1. The output has every default filled in; the stored document is the given
 * one. Rules that span several places are in check.ts.
 */
export const ConnectorSpec = strictObject({
  formatVersion: v.optional(v.literal(1), 1),
  metadata: strictObject({
    key: SpecKey,
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    version: SpecVersion,
    description: v.exactOptional(v.string()),
    docsUrl: v.exactOptional(WebUrl),
    iconUrl: v.exactOptional(WebUrl),
    tags: v.optional(v.pipe(v.array(v.string()), v.maxLength(100)), []),
  }),
  connectionParams: v.optional(v.array(ConnectionParam), []),
  auth: v.optional(Auth, { kind: 'none' }),
  http: v.optional(HttpSettings, {}),
  lookups: v.optional(v.array(Lookup), []),
  resources: v.pipe(v.array(Resource), v.minLength(1)),
  /** Absent: the deployment's default destination. */
  destination: v.exactOptional(DestinationSpec),
  tests: v.optional(v.array(SpecTest), []),
});
export type ConnectorSpec = v.InferOutput<typeof ConnectorSpec>;

export type { Resource } from './resource-schema.ts';
