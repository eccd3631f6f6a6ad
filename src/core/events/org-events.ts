import * as v from 'valibot';
import type { DomainEvent } from './envelope.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection } from './examples.ts';

const SpecChanged = v.object({
  specId: v.string(),
  key: v.pipe(v.string(), v.examples(['acme-crm'])),
  version: v.pipe(v.string(), v.examples(['1.4.0'])),
  checksum: v.string(),
  publishedAt: v.nullable(v.string()),
});
const ApiKeyChanged = v.object({
  apiKeyId: v.string(),
  createdBy: v.pipe(v.nullable(v.string()), v.description('The key that created it; null: the operator did.')),
});

type SpecChanged = v.InferOutput<typeof SpecChanged>;

const ofOrg = { workspaceId: null, connectionId: null, runId: null };

export const specPublished = (version: SpecChanged): DomainEvent => ({ ...ofVersion(version), type: 'spec.published' });

export const specDeprecated = (version: SpecChanged): DomainEvent => ({
  ...ofVersion(version),
  type: 'spec.deprecated',
});

function ofVersion({ specId, key, version, checksum, publishedAt }: SpecChanged) {
  // Each version is published once and deprecated once.
  return { ...ofOrg, subject: `${specId} ${version}`, data: { specId, key, version, checksum, publishedAt } };
}

export interface ApiKeyFacts extends v.InferOutput<typeof ApiKeyChanged> {
  /** The workspace of the key; `null` if it is not bound to one. */
  readonly workspaceId: string | null;
}

export const apiKeyCreated = ({ workspaceId, ...data }: ApiKeyFacts): DomainEvent => ({
  ...ofOrg,
  workspaceId,
  type: 'api_key.created',
  subject: data.apiKeyId,
  data,
});

export const apiKeyRevoked = ({ workspaceId, ...data }: ApiKeyFacts): DomainEvent => ({
  ...ofOrg,
  workspaceId,
  type: 'api_key.revoked',
  subject: data.apiKeyId,
  data,
});

const exampleVersion: SpecChanged = {
  specId: 'spec_01kaemm0dce7xb1k4c1m1f2p3q',
  key: exampleConnection.specKey,
  version: exampleConnection.pinnedSpecVersion,
  checksum: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  publishedAt: '2026-03-01T08:00:00.000Z',
};
const exampleKey: ApiKeyFacts = {
  apiKeyId: 'key_01kaemm0dce7xb1k4c1m1f2p3q',
  createdBy: 'key_01kaemm0dce7xb1k4c1m1f2p3r',
  workspaceId: null,
};

export const orgEvents: EventDeclarations<
  'spec.published' | 'spec.deprecated' | 'api_key.created' | 'api_key.revoked'
> = {
  'spec.published': {
    summary: 'A version of a spec was published.',
    data: SpecChanged,
    example: specPublished(exampleVersion).data,
  },
  'spec.deprecated': {
    summary: 'A version of a spec was deprecated: new connections are rejected; those pinned to it continue.',
    data: SpecChanged,
    example: specDeprecated(exampleVersion).data,
  },
  'api_key.created': {
    summary: 'An API key was created.',
    data: ApiKeyChanged,
    example: apiKeyCreated(exampleKey).data,
  },
  'api_key.revoked': {
    summary: 'An API key was revoked.',
    data: ApiKeyChanged,
    example: apiKeyRevoked(exampleKey).data,
  },
};
