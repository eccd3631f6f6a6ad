/**
 * Registry packages with a known digest. npm unpacks a package before it knows the digest, and compares it with the
 * registry's. So the archive is fetched alone and compared first.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @typedef {{ name: string, version: string, integrity: string }} Package
 * @typedef {(program: string, args: readonly string[], options: object) => Promise<{ code: number | null }>} Run
 */

/**
 * Uses npm, which knows registries, proxies and their credentials, and does not open the archive. Throws on another
 * digest.
 * @param {Package} wanted @param {Run} run
 * @returns {Promise<Buffer>}
 */
export async function fetchPackage({ name, version, integrity }, run) {
  const cache = mkdtempSync(join(tmpdir(), 'connector-sync-npm-'));
  try {
    const what = `${name}@${version}`;
    await npm(['cache', 'add', what, '--cache', cache], run);
    const [algorithm = '', digest = ''] = integrity.split(/-(.*)/s);
    const hex = Buffer.from(digest, 'base64').toString('hex');
    // npm keeps an archive under its digest.
    const path = join(cache, '_cacache', 'content-v2', algorithm, hex.slice(0, 2), hex.slice(2, 4), hex.slice(4));
    const archive = existsSync(path) ? readFileSync(path) : null;
    if (archive === null || createHash(algorithm).update(archive).digest('base64') !== digest) {
      throw new Error(`${what} has not the digest ${integrity}: it was not opened`);
    }
    return archive;
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

/**
 * For packages without dependencies; their scripts do not run. Throws as {@link fetchPackage} does.
 * @param {Package} wanted @param {{ prefix: string, run: Run }} options
 */
export async function installPackage(wanted, { prefix, run }) {
  const archive = await fetchPackage(wanted, run);
  const folder = mkdtempSync(join(tmpdir(), 'connector-sync-npm-'));
  try {
    const file = join(folder, `${wanted.name}.tgz`);
    writeFileSync(file, archive);
    const args = ['install', '--offline', '--prefix', prefix, '--no-save', '--ignore-scripts', file];
    await npm([...args, '--cache', join(folder, 'cache')], run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {readonly string[]} args @param {Run} run */
async function npm(args, run) {
  const { npm: program, leading } = npmCommand();
  const { code } = await run(program, [...leading, ...args, '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32' && leading.length === 0,
  });
  if (code !== 0) throw new Error(`npm ${args.slice(0, 3).join(' ')} ended with code ${code}`);
}

/** npm as the caller runs it, else the one on PATH. */
export function npmCommand() {
  const script = process.env.npm_execpath;
  return script?.endsWith('.js') && existsSync(script)
    ? { npm: process.execPath, leading: [script] }
    : { npm: process.platform === 'win32' ? 'npm.cmd' : 'npm', leading: [] };
}
