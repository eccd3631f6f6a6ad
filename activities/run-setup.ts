import * as v from 'valibot';
import type { Attempt } from '../db/queries/attempts.ts';
import { findConnection } from '../db/queries/connections.ts';
import { findSecret } from '../db/queries/secrets.ts';
import { findPinnedSpec } from '../db/queries/specs.ts';
import type { OrgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import { specChecksum } from '../src/core/spec/checksum.ts';
import { effectiveSpec } from '../src/core/spec/effective.ts';
import { checkConnectionValues } from '../src/core/spec/params.ts';
import type { ConnectorSpec, Resource } from '../src/core/spec/schema.ts';
import type { Deps } from '../src/deps.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What the connection and its pinned spec say of a run. */
export interface RunSetup {
  readonly spec: ConnectorSpec;
  readonly specChecksum: string;
  readonly resource: Resource;
  /** With defaults filled in. */
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

/** Reads and checks what a run is about. Throws `spec_invalid` when spec, overrides, values or resource do not fit. */
export async function loadSetup(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  run: Attempt,
): Promise<RunSetup> {
  const connection = await findConnection(deps.db, scope, run.connectionId);
  const pinned = await findPinnedSpec(deps.db, scope, run.connectionId);
  if (!connection || !pinned) throw new AppError('spec_invalid', 'The connection or its pinned spec version is gone');
  const judged = effectiveSpec(pinned.specJson, connection.specOverridesJson);
  if (!judged.valid) {
    throw new AppError('spec_invalid', `The effective spec is invalid: ${judged.issues[0]?.message ?? 'no detail'}`);
  }
  const resource = judged.spec.resources.find((candidate) => candidate.key === run.resourceKey);
  if (!resource) throw new AppError('spec_invalid', `The effective spec has no resource "${run.resourceKey}"`);
  const values = checkConnectionValues(judged.spec, {
    params: connection.paramsJson,
    secrets: await openSecrets(deps, scope, run.connectionId),
  });
  if (!values.ok) {
    const [issue] = values.issues;
    throw new AppError(
      'spec_invalid',
      `The connection's values do not fit its spec: ${issue?.path ?? ''} ${issue?.message ?? ''}`,
    );
  }
  const { params, secrets } = values;
  return { spec: judged.spec, specChecksum: specChecksum(judged.document), resource, params, secrets };
}

async function openSecrets(
  { db, secretBox }: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  connectionId: string,
): Promise<JsonObject> {
  const kind = 'params-secret';
  const sealed = await findSecret(db, scope, { connectionId, kind });
  if (!sealed) return {};
  return v.parse(
    v.record(v.string(), v.unknown()),
    JSON.parse(secretBox.open(sealed, { orgId: scope.orgId, connectionId, kind })),
  );
}
