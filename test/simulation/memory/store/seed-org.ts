import type { JsonObject } from '../../../../src/core/json/json-object.ts';
import type { ControlState } from './control-state.ts';

/**
 * Makes the org of a store and an active connection that is pinned to the first of the given versions of its spec.
 *
 * @param versions documents by version.
 */
export function seedOrg(
  state: ControlState,
  versions: Readonly<Record<string, JsonObject>>,
  params: JsonObject = {},
): { readonly orgId: string; readonly connectionId: string } {
  return state.atomically(() => {
    const [orgId, specId, connectionId] = [state.newId('org'), state.newId('spec'), state.newId('con')];
    const createdAt = state.now();
    for (const [version, specJson] of Object.entries(versions)) {
      const id = state.newId('specver');
      const row = { id, orgId, specId, version, specJson, checksum: '', createdAt, publishedAt: createdAt };
      state.specVersions.insert({ ...row, status: 'published', documentBytes: JSON.stringify(specJson).length });
    }
    state.connections.insert({
      ...{
        id: connectionId,
        orgId,
        specId,
        createdAt,
        deletedAt: null,
        errorSince: null,
        error: null,
        testAt: null,
        tests: 0,
        recoveredAt: null,
        errorAfterMinutes: 0,
        externalCustomerId: null,
      },
      workspaceId: state.newId('ws'),
      pinnedSpecVersion: Object.keys(versions)[0] ?? '',
      displayName: 'Simulated',
      status: 'active',
      accessNo: 0,
      paramsJson: params,
      specOverridesJson: null,
      accounts: [],
      oauthApps: [],
      customerParams: null,
    });
    return { orgId, connectionId };
  });
}
