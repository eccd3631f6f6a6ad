import { SpecVersionRow } from '../../core/resources/spec.ts';
import type { CommandResult } from '../output.ts';
import type { Tools } from '../tools.ts';
import { openService, type ServiceArguments } from './service.ts';
import { versionNamed, versionPath } from './spec-versions.ts';

export async function publish(tools: Tools, spec: string, args: ServiceArguments): Promise<CommandResult> {
  const named = await versionNamed(tools, spec);
  const service = await openService(tools, args);
  const { version, status, publishedAt, checksum } = await service.call(
    SpecVersionRow,
    'POST',
    `${versionPath(named)}/publish`,
  );
  const { key } = named;
  return {
    json: { key, version, status, publishedAt, checksum },
    lines: [`published ${key}@${version} at ${service.address.url}`],
  };
}
