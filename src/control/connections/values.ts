import type { Db } from '../../../db/client.ts';
import { putSecret } from '../../../db/queries/connections/secrets.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { paramsSecretKind as kind } from '../../connect/secrets.ts';
import type { JsonObject } from '../../core/json/json-object.ts';
import {
  type ConnectionCheck,
  type ConnectionValues,
  checkConnectionValues,
} from '../../core/spec/connection/params.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import type { Deps } from '../../deps.ts';

/** Values of a connection that are not stored yet. */
export interface CandidateValues {
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

/** Checks values against the declared params; the egress guard checks URLs. */
export const checkValues = (
  { egress }: Pick<Deps, 'egress'>,
  spec: Pick<ConnectorSpec, 'connectionParams'>,
  values: ConnectionValues,
): ConnectionCheck => checkConnectionValues(spec, values, { hostIssue: (url) => egress.urlIssue(url.href) });

export async function sealSecrets(
  { secretBox }: Pick<Deps, 'secretBox'>,
  tx: Db,
  scope: OrgScope,
  { connectionId, secrets }: { readonly connectionId: string; readonly secrets: JsonObject },
): Promise<void> {
  const sealed = secretBox.seal(JSON.stringify(secrets), { orgId: scope.orgId, ownerId: connectionId, kind });
  await putSecret(tx, scope, { ...sealed, connectionId, kind });
}

/** Drops values of an earlier version or of former overrides. */
export function declaredValues(
  { connectionParams }: Pick<ConnectorSpec, 'connectionParams'>,
  { params, secrets }: { readonly params: JsonObject; readonly secrets: JsonObject },
): { readonly params: JsonObject; readonly secrets: JsonObject } {
  const keysOf = (secret: boolean) =>
    new Set(connectionParams.filter((param) => param.secret === secret).map(({ key }) => key));
  const only = (values: JsonObject, keys: ReadonlySet<string>): JsonObject =>
    Object.fromEntries(Object.entries(values).filter(([key]) => keys.has(key)));
  return { params: only(params, keysOf(false)), secrets: only(secrets, keysOf(true)) };
}
