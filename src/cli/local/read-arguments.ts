import { parseCount } from '../assignments.ts';
import { usageError } from '../command-error.ts';
import { secretSource } from '../secret-input.ts';
import { readValidSpec, type ValidSpecFile } from '../spec-file.ts';
import type { Tools } from '../tools.ts';
import { readConnectionValues } from './connection-values.ts';
import type { LocalReadOptions } from './local-read.ts';

export interface ReadArguments {
  readonly resource?: string;
  readonly param?: readonly string[];
  readonly secret?: readonly string[];
  readonly accessToken?: string;
  readonly allow?: readonly string[];
  readonly limit: string;
}

/** Throws usage errors and the issues of the file. */
export async function prepareRead(
  tools: Tools,
  name: string,
  args: ReadArguments,
): Promise<Omit<LocalReadOptions, 'progress'> & { readonly file: ValidSpecFile }> {
  const limit = parseCount('--limit', args.limit);
  const token = args.accessToken === undefined ? null : secretSource('--access-token', args.accessToken);
  const file = await readValidSpec(tools, name);
  const { spec } = file;
  const resourceKey = resourceOf(
    args.resource,
    spec.resources.map(({ key }) => key),
  );
  const typed = { params: args.param ?? [], secrets: args.secret ?? [], accessToken: token };
  const { values, accessToken } = await readConnectionValues(tools, spec, typed);
  return { spec, resourceKey, values, limit, allow: args.allow ?? [], accessToken, file };
}

function resourceOf(given: string | undefined, keys: readonly string[]): string {
  const key = given ?? (keys.length === 1 ? keys[0] : undefined);
  if (key !== undefined && keys.includes(key)) return key;
  const known = `The spec has: ${keys.join(', ')}.`;
  throw usageError(
    given === undefined ? `Name a resource: --resource KEY. ${known}` : `There is no resource "${given}". ${known}`,
  );
}
