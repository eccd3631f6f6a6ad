import type { JsonObject } from '../core/json/json-object.ts';
import { leafTexts } from '../core/source/auth/auth.ts';
import { findResource } from '../core/spec/connection/find-resource.ts';
import { checkConnectionValues } from '../core/spec/connection/params.ts';
import { invalidSpec, invalidValues } from '../core/spec/connection/spec-errors.ts';
import { storedSpec } from '../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec, Resource } from '../core/spec/schema/spec-schema.ts';

export interface ConnectionSetup {
  readonly spec: ConnectorSpec;
  readonly specChecksum: string;
  /** With defaults filled in. */
  readonly params: JsonObject;
  readonly secrets: JsonObject;
  /** Secrets of the OAuth apps of the org that the spec names, to mask; absent if it names none. */
  readonly appSecrets?: readonly string[];
}

/** Texts that nothing may show. */
export const secretTexts = ({ secrets, appSecrets = [] }: Pick<ConnectionSetup, 'secrets' | 'appSecrets'>) => [
  ...leafTexts(secrets),
  ...appSecrets,
];

export interface ResourceSetup extends ConnectionSetup {
  readonly resource: Resource;
}

interface StoredParts {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
  readonly secrets: JsonObject;
}

/** Throws `spec_invalid` when the parts do not fit. */
export function setUpConnection({ specJson, specOverridesJson, ...given }: StoredParts): ConnectionSetup {
  const checked = storedSpec(specJson, specOverridesJson);
  if (!checked.valid) throw invalidSpec('spec_invalid', checked.issues);
  const values = checkConnectionValues(checked.spec, { params: given.paramsJson, secrets: given.secrets });
  if (!values.ok) throw invalidValues('spec_invalid', values.issues);
  const { params, secrets } = values;
  return { spec: checked.spec, specChecksum: checked.checksum ?? '', params, secrets };
}

/** Throws `spec_invalid` when the spec does not have the resource. */
export function ofResource(setup: ConnectionSetup, resourceKey: string): ResourceSetup {
  return { ...setup, resource: findResource(setup.spec, resourceKey) };
}
