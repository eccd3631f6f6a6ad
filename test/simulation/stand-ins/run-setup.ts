/** Stands in for `activities/run-setup.ts`: specs are parsed once. */
import type * as real from '../../../activities/run-setup.ts';
import { findResource } from '../../../src/core/spec/connection/find-resource.ts';
import { currentSpecs } from '../current.ts';

export const setupOf: typeof real.setupOf = async (_deps, _scope, { begunWith, resourceKey }) => {
  if (!begunWith) throw new Error('The run has not begun');
  const { version } = begunWith.specJson['metadata'] as { readonly version: string };
  const spec = currentSpecs().get(version);
  if (!spec) throw new Error(`No spec of version ${version}`);
  return {
    spec,
    specChecksum: `sha256:${version}`,
    params: begunWith.paramsJson,
    secrets: {},
    resource: findResource(spec, resourceKey),
  };
};
