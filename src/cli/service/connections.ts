import { ConnectionRow } from '../../core/resources/connection.ts';
import { CommandError, exitCodes, usageError } from '../command-error.ts';
import { readConnectionValues } from '../local/connection-values.ts';
import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { ConnectionRows, SpecRows, WorkspaceRows } from './rows.ts';
import { openService, type Service, type ServiceArguments, segment } from './service.ts';
import { specNamed } from './spec-versions.ts';

export interface CreateArguments extends ServiceArguments {
  readonly name?: string;
  readonly workspace: string;
  readonly param?: readonly string[];
  readonly secret?: readonly string[];
}

export async function connections(tools: Tools, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const rows = await service.call(ConnectionRows, 'GET', '/connections');
  const specs = await service.call(SpecRows, 'GET', '/specs');
  const keys = new Map(specs.map(({ id, key }) => [id, key]));
  return {
    json: rows.map((row) => ({ ...row, specKey: keys.get(row.specId) ?? null })),
    lines:
      rows.length === 0
        ? ['There is no connection. Create one: css connections create SPEC']
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

export async function createConnection(tools: Tools, text: string, args: CreateArguments): Promise<CommandResult> {
  const { spec, name } = await specNamed(tools, text, args);
  if (!spec) {
    const message = `${name} breaks the rules of this version: publish a version that css validate accepts.`;
    throw new CommandError(exitCodes.wrong, 'validation', message);
  }
  const typed = { params: args.param ?? [], secrets: args.secret ?? [], accessToken: null };
  const { values } = await readConnectionValues(tools, spec, typed);
  const service = await openService(tools, args);
  const { key: specKey, version: specVersion, name: displayName } = spec.metadata;
  const workspaceId = await workspaceNamed(service, args.workspace);
  const body = { workspaceId, specKey, specVersion, displayName: args.name ?? displayName, ...values };
  const row = await service.call(ConnectionRow, 'POST', '/connections', { body });
  return {
    json: row,
    lines: [
      `created ${row.id}  ${specKey}@${specVersion}  ${row.displayName}`,
      `  css connections activate ${row.id} lets it run.`,
    ],
  };
}

/** Accepts a name or an id; throws usage errors. */
async function workspaceNamed(service: Service, text: string): Promise<string> {
  const workspaces = await service.call(WorkspaceRows, 'GET', '/workspaces');
  const found = workspaces.find(({ id, name }) => id === text || name === text);
  if (found) return found.id;
  const names = workspaces.map(({ name }) => name).join(', ');
  throw usageError(`There is no workspace "${text}": --workspace takes one of ${names}.`);
}

export async function activateConnection(tools: Tools, id: string, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const row = await service.call(ConnectionRow, 'POST', `/connections/${segment(id)}/activate`);
  return { json: row, lines: [`${row.id}  ${row.status}`, `  css sync ${row.id} RESOURCE --follow runs a resource.`] };
}
