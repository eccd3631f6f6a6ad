import { SpecVersionRow } from '../core/resources/spec.ts';
import { CommandError } from './command-error.ts';
import type { CommandResult } from './output.ts';
import { openService, type Service, type ServiceArguments } from './service.ts';
import { readValidSpec, type ValidSpecFile } from './spec-file.ts';
import { versionPath } from './spec-versions.ts';
import type { Tools } from './tools.ts';

/** `css push`: the draft of the version that the file names is created, or replaced. */
export async function push(tools: Tools, name: string, args: ServiceArguments): Promise<CommandResult> {
  const file = await readValidSpec(tools, name);
  const service = await openService(tools, args);
  const { action, row } = await createOrReplace(service, file);
  const { key } = file.spec.metadata;
  const { version, status, checksum } = row;
  return {
    json: { action, key, version, status, checksum },
    lines: [
      `${action} the draft ${key}@${version} at ${service.address.url}`,
      `  css publish ${key}@${version} freezes it.`,
    ],
  };
}

async function createOrReplace(service: Service, { text, format, spec }: ValidSpecFile) {
  const document = { text, type: format === 'yaml' ? 'application/yaml' : 'application/json' };
  try {
    return { action: 'created', row: await service.call(SpecVersionRow, 'POST', '/specs', { document }) };
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'conflict') throw error;
    return { action: 'replaced', row: await replace(service, spec.metadata, document) };
  }
}

async function replace(
  service: Service,
  version: { readonly key: string; readonly version: string },
  document: { readonly text: string; readonly type: string },
) {
  try {
    return await service.call(SpecVersionRow, 'PUT', versionPath(version), { document });
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'immutable') throw error;
    const { key, version: no } = version;
    throw new CommandError(
      error.exitCode,
      error.code,
      `${key}@${no} is published, and a published version never changes: raise metadata.version in the file, then push it.`,
    );
  }
}
