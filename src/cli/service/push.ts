import type { CommandResult } from '../output.ts';
import { readValidSpec } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { putDraft } from './put-draft.ts';
import { openService, type ServiceArguments } from './service.ts';

/** Creates or replaces the draft of the version that the file names. */
export async function push(tools: Tools, name: string, args: ServiceArguments): Promise<CommandResult> {
  const { spec, text, format } = await readValidSpec(tools, name);
  const service = await openService(tools, args);
  const type = format === 'yaml' ? 'application/yaml' : 'application/json';
  const { action, row } = await putDraft(service, spec.metadata, { text, type });
  const { key } = spec.metadata;
  const { version, status, checksum } = row;
  return {
    json: { action, key, version, status, checksum },
    lines: [
      `${action} the draft ${key}@${version} at ${service.address.url}`,
      `  css publish ${key}@${version} freezes it.`,
    ],
  };
}
