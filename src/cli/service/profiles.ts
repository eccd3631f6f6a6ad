import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { hasCode } from '../../core/error-code.ts';
import { CommandError, exitCodes, usageError } from '../command-error.ts';
import type { Tools } from '../tools.ts';

const Profile = v.object({ url: v.pipe(v.string(), v.url()), apiKey: v.pipe(v.string(), v.minLength(1)) });
const ProfilesFile = v.object({ current: v.nullable(v.string()), profiles: v.record(v.string(), Profile) });

type Profile = v.InferOutput<typeof Profile>;
/** `current`: the profile in use. */
export type Profiles = v.InferOutput<typeof ProfilesFile>;

/** Throws usage errors. */
export function profileName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(text)) return text;
  throw usageError('A profile is named by letters, digits, ".", "_" and "-".');
}

export const profilesPath = ({ env }: Pick<Tools, 'env'>): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'css', 'config.json');

/** Empty without a file; throws when others than the owner can read it, or it is damaged. */
export async function readProfiles(tools: Pick<Tools, 'env'>): Promise<Profiles> {
  const path = profilesPath(tools);
  const text = await textOf(path);
  if (text === null) return { current: null, profiles: {} };
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ProfilesFile), text);
  if (parsed.success) return parsed.output;
  throw wrongFile(`${path} is damaged. Delete it, then add the profiles again: css profile add NAME --url URL`);
}

/** Replaces the file atomically; only its owner can read it. */
export async function writeProfiles(tools: Pick<Tools, 'env'>, profiles: Profiles): Promise<void> {
  const path = profilesPath(tools);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
}

async function textOf(path: string): Promise<string | null> {
  try {
    const { mode, uid } = await stat(path);
    // Windows has no such modes; there a person's folder is private.
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw wrongFile(`${path} holds API keys, and others than its owner can read it. Run: chmod 600 ${path}`);
    if (process.getuid !== undefined && uid !== process.getuid())
      throw wrongFile(`${path} belongs to another user. Set XDG_CONFIG_HOME to a folder of your own.`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

const wrongFile = (message: string): CommandError => new CommandError(exitCodes.config, 'config', message);
