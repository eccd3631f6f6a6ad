/** Stands in for `activities/run-setup.ts`: specs are parsed once. */
import type * as real from '../../../activities/run-setup.ts';
import { findResource } from '../../../src/core/spec/connection/find-resource.ts';
import { currentSpecs } from '../current.ts';
import { findBegunWith } from '../memory/run-setup.ts';

export const loadSetup: typeof real.loadSetup = async (deps, scope, { runId, resourceKey }) => {
  const begun = await findBegunWith(deps.db, scope, { runId, secretKind: 'none' });
  if (!begun) throw new Error(`Run ${runId} has not begun`);
  const { version } = begun.specJson['metadata'] as { readonly version: string };
  const spec = currentSpecs().get(version);
  if (!spec) throw new Error(`No spec of version ${version}`);
  return {
    spec,
    specChecksum: `sha256:${version}`,
    params: begun.paramsJson,
    secrets: {},
    resource: findResource(spec, resourceKey),
  };
};
