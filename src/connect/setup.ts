import type { JsonObject } from '../core/json/json-object.ts';
import { findResource } from '../core/spec/connection/find-resource.ts';
import { checkConnectionValues } from '../core/spec/connection/params.ts';
import { invalidSpec, invalidValues } from '../core/spec/connection/spec-errors.ts';
import { storedSpec } from '../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec, Resource } from '../core/spec/schema/spec-schema.ts';

/** The setup that spec and values of a connection give. */
export interface ConnectionSetup {
  readonly spec: ConnectorSpec;
  readonly specChecksum: string;
  /** The params, with defaults filled in. */
  readonly params: JsonObject;
  readonly secrets: JsonObject;
}

/** What a run of one resource needs of its connection. */
export interface ResourceSetup extends ConnectionSetup {
  readonly resource: Resource;
}

/** The parts of a connection, as stored; its secrets, opened. */
interface StoredParts {
  readonly specJson: JsonObject;
  readonly specOverridesJson: JsonObject | null;
  readonly paramsJson: JsonObject;
  readonly secrets: JsonObject;
}

/** Combines the parts of a connection. Throws `spec_invalid` when they do not fit. */
export function setUpConnection({ specJson, specOverridesJson, ...given }: StoredParts): ConnectionSetup {
  const checked = storedSpec(specJson, specOverridesJson);
  if (!checked.valid) throw invalidSpec('spec_invalid', checked.issues);
  const values = checkConnectionValues(checked.spec, { params: given.paramsJson, secrets: given.secrets });
  if (!values.ok) throw invalidValues('spec_invalid', values.issues);
  const { params, secrets } = values;
  return { spec: checked.spec, specChecksum: checked.checksum ?? '', params, secrets };
}

/** The setup of one resource. Throws `spec_invalid` when the spec has no such resource. */
export function ofResource(setup: ConnectionSetup, resourceKey: string): ResourceSetup {
  return { ...setup, resource: findResource(setup.spec, resourceKey) };
}
