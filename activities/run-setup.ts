import * as v from 'valibot';
import { findBegunWith } from '../db/queries/run-setup.ts';
import { findSecret } from '../db/queries/secrets.ts';
import type { OrgScope } from '../db/scope.ts';
import { AppError } from '../src/core/errors.ts';
import { specChecksum } from '../src/core/spec/checksum.ts';
import { effectiveSpec } from '../src/core/spec/effective.ts';
import { checkConnectionValues } from '../src/core/spec/params.ts';
import type { ConnectorSpec, Resource } from '../src/core/spec/schema.ts';
import type { Deps } from '../src/deps.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What the spec and the connection say of a run, as they were when it began; secrets as they are now. */
export interface RunSetup {
  readonly spec: ConnectorSpec;
  readonly specChecksum: string;
  readonly resource: Resource;
  /** With defaults filled in. */
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

interface RunKey {
  readonly runId: string;
  readonly connectionId: string;
  readonly resourceKey: string;
}

/** Reads and checks what a run is about. Throws `spec_invalid` when spec, overrides, values or resource do not fit. */
export async function loadSetup(
  deps: Pick<Deps, 'db' | 'secretBox'>,
  scope: OrgScope,
  { runId, connectionId, resourceKey }: RunKey,
): Promise<RunSetup> {
  const begun = await findBegunWith(deps.db, scope, runId);
  if (!begun) throw new AppError('spec_invalid', 'The connection or its pinned spec version is gone');
  const judged = effectiveSpec(begun.specJson, begun.specOverridesJson);
  if (!judged.valid) {
    throw new AppError('spec_invalid', `The effective spec is invalid: ${judged.issues[0]?.message ?? 'no detail'}`);
  }
  const resource = judged.spec.resources.find((candidate) => candidate.key === resourceKey);
  if (!resource) throw new AppError('spec_invalid', `The effective spec has no resource "${resourceKey}"`);
  const values = checkConnectionValues(judged.spec, {
    params: begun.paramsJson,
    secrets: await openSecrets(deps, scope, connectionId),
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
