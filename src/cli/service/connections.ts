import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { ConnectionRows, SpecRows } from './rows.ts';
import { openService, type ServiceArguments } from './service.ts';

/** `css connections`: the connections of the org. */
export async function connections(tools: Tools, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const rows = await service.call(ConnectionRows, 'GET', '/connections');
  const specs = await service.call(SpecRows, 'GET', '/specs');
  const keys = new Map(specs.map(({ id, key }) => [id, key]));
  return {
    json: rows.map((row) => ({ ...row, specKey: keys.get(row.specId) ?? null })),
    lines:
      rows.length === 0
        ? ['There is no connection. Create one: POST /api/v1/connections']
        : table(
            rows.map(({ id, status, specId, pinnedSpecVersion, displayName }) => [
              id,
              status,
              `${keys.get(specId) ?? specId}@${pinnedSpecVersion}`,
              displayName,
            ]),
          ),
  };
}
