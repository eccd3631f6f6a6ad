import { AppError } from '../../errors.ts';
import type { ConnectorSpec, Resource } from '../schema/spec-schema.ts';

/** Throws `spec_invalid` if the spec has no such resource. */
export function findResource({ resources }: Pick<ConnectorSpec, 'resources'>, resourceKey: string): Resource {
  const resource = resources.find(({ key }) => key === resourceKey);
  if (!resource) throw new AppError('spec_invalid', `The effective spec has no resource "${resourceKey}".`);
  return resource;
}
