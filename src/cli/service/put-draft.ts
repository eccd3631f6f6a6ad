import { type SpecVersionRow, SpecVersionRow as SpecVersionSchema } from '../../core/resources/spec.ts';
import { CommandError } from '../command-error.ts';
import type { Service } from './service.ts';
import { type VersionName, versionPath } from './spec-versions.ts';

interface SentDocument {
  readonly text: string;
  readonly type: 'application/yaml' | 'application/json';
}

export interface PutDraft {
  readonly action: 'created' | 'replaced';
  readonly row: SpecVersionRow;
}

/** Throws `immutable` when the version is published, and errors of the service. */
export async function putDraft(service: Service, version: VersionName, document: SentDocument): Promise<PutDraft> {
  try {
    return { action: 'created', row: await service.call(SpecVersionSchema, 'POST', '/specs', { document }) };
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'conflict') throw error;
    return { action: 'replaced', row: await replace(service, version, document) };
  }
}

async function replace(service: Service, version: VersionName, document: SentDocument): Promise<SpecVersionRow> {
  try {
    return await service.call(SpecVersionSchema, 'PUT', versionPath(version), { document });
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'immutable') throw error;
    const { key, version: no } = version;
    throw new CommandError(
      error.exitCode,
      error.code,
      `${key}@${no} is published, and a published version never changes: raise metadata.version in the file, then push it.`,
      { cause: error },
    );
  }
}
