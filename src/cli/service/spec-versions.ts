import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Issue } from '../../core/errors.ts';
import { SpecVersionRow } from '../../core/resources/spec.ts';
import { checkSpec } from '../../core/spec/check/check.ts';
import type { ConnectorSpec } from '../../core/spec/schema/spec-schema.ts';
import { CommandError, exitCodes, usageError } from '../command-error.ts';
import { readValidSpec } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { SpecRows } from './rows.ts';
import { openService, type Service, type ServiceArguments, segment } from './service.ts';

export interface VersionName {
  readonly key: string;
  readonly version: string;
}

export interface NamedSpec {
  readonly name: string;
  /** `null` if this version of the program finds it invalid, as `issues` say. */
  readonly spec: ConnectorSpec | null;
  readonly issues: readonly Issue[];
}

/** `null` unless it is `key@version`, and if a file has that name. */
function versionName({ folder }: Pick<Tools, 'folder'>, text: string): VersionName | null {
  const [, key, version] = /^([a-z][a-z0-9_-]*)@(\d[\w.-]*)$/.exec(text) ?? [];
  return key === undefined || version === undefined || existsSync(resolve(folder, text)) ? null : { key, version };
}

/** Throws usage errors, and the issues of the file. */
export async function versionNamed(tools: Tools, text: string): Promise<VersionName> {
  const named = versionName(tools, text);
  if (named) return named;
  const { spec } = await readValidSpec(tools, text);
  return spec.metadata;
}

/** Below `/api/v1`. */
export const versionPath = ({ key, version }: VersionName): string =>
  `/specs/${segment(key)}/versions/${segment(version)}`;

/** Throws usage errors and those of the service. */
export async function specNamed(tools: Tools, text: string, args: ServiceArguments): Promise<NamedSpec> {
  const named = versionName(tools, text);
  if (named) return await specOfVersion(await openService(tools, args), named);
  const { spec } = await readValidSpec(tools, text);
  return { name: text, spec, issues: [] };
}

/** Throws without a published version. */
export async function newestPublished(service: Service, key: string): Promise<VersionName> {
  const specs = await service.call(SpecRows, 'GET', '/specs');
  const versions = specs.find((spec) => spec.key === key)?.versions ?? [];
  const newest = versions.find(({ status }) => status === 'published');
  if (newest) return { key, version: newest.version };
  const why = versions.length === 0 ? 'does not know it' : 'has only drafts of it';
  throw new CommandError(
    exitCodes.wrong,
    'not_found',
    `There is no published version of "${key}": the service ${why}.`,
  );
}

export async function specOfVersion(service: Service, named: VersionName): Promise<NamedSpec> {
  const { specJson } = await service.call(SpecVersionRow, 'GET', versionPath(named));
  const checked = checkSpec(specJson);
  const name = `${named.key}@${named.version}`;
  return checked.valid ? { name, spec: checked.spec, issues: [] } : { name, spec: null, issues: checked.issues };
}

/** Throws usage errors: a comparison of two connectors makes no sense. */
export function sameKey(from: NamedSpec, to: NamedSpec): void {
  const [one, other] = [from.spec?.metadata.key, to.spec?.metadata.key];
  if (one === undefined || other === undefined || one === other) return;
  throw usageError(
    `${from.name} is a version of "${one}", and ${to.name} of "${other}": compare versions of one spec.`,
  );
}
