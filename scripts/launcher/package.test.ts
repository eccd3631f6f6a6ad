import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSupervisor } from '../../test/embedded/supervisor-process.ts';
import { caseFigure } from '../../test/support/security/figure.ts';
import { scratchFolder } from '../../test/support/service/scratch-folder.ts';
import { fetchPackage, installPackage } from './package.mjs';

const integrityOf = (bytes: Uint8Array) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

/** A registry on loopback whose every package has this archive, with the digest that it says itself. */
async function registry(version: string, archive: Uint8Array): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer(({ url = '/' }, response) => {
    if (url.endsWith('.tgz')) return response.end(archive);
    const name = decodeURIComponent(url.slice(1));
    const dist = { tarball: `${address()}/${name}/-/archive.tgz`, integrity: integrityOf(archive) };
    response.setHeader('content-type', 'application/json');
    const versions = { [version]: { name, version, dist } };
    return response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  }).listen(0, '127.0.0.1');
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server, 'listening');
  return {
    url: address(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Runs npm with the registry; collects what it says. */
function runWith(url: string) {
  const said: string[] = [];
  const run = async (program: string, args: readonly string[], options: object) => {
    const env = { ...process.env, npm_config_registry: url, no_proxy: '127.0.0.1' };
    const child = spawn(program, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => said.push(String(bytes)));
    const [code] = await once(child, 'close');
    return { code: code as number | null };
  };
  return { run, said };
}

function archiveOf(name: string, version: string): Uint8Array {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name, version }));
  execFileSync('tar', ['-czf', 'archive.tgz', 'package'], { cwd: folder });
  return readFileSync(join(folder, 'archive.tgz'));
}

describe('a package whose digest is known', () => {
  it('is installed when the registry has it', async () => {
    const [name, version] = ['some-program', '1.2.3'];
    const archive = archiveOf(name, version);
    await using server = await registry(version, archive);
    const { run } = runWith(server.url);
    const prefix = scratchFolder();
    await installPackage({ name, version, integrity: integrityOf(archive) }, { prefix, run });
    expect(JSON.parse(readFileSync(join(prefix, 'node_modules', name, 'package.json'), 'utf8'))).toEqual({
      name,
      version,
    });
  });

  it.each([
    ['another archive', () => archiveOf('some-program', '1.2.3')],
    ['no archive at all', () => Buffer.from('this is no archive')],
  ])('is never opened when the registry has %s', async (_what, make) => {
    await using server = await registry('1.2.3', make());
    const { run, said } = runWith(server.url);
    const prefix = scratchFolder();
    const wanted = { name: 'some-program', version: '1.2.3', integrity: integrityOf(Buffer.from('the right one')) };
    await expect(fetchPackage(wanted, run)).rejects.toThrow(/has not the digest sha512-.*: it was not opened/);
    await expect(installPackage(wanted, { prefix, run })).rejects.toThrow(/it was not opened/);
    caseFigure('openedDownloads', said.length > 0 || readdirSync(prefix).length > 0);
    expect(said.join('')).toBe('');
    expect(readdirSync(prefix)).toEqual([]);
  });
});

describe('the Node that the launcher fetches', () => {
  it('is never opened when the registry has another one', async () => {
    await using server = await registry('26.10.0', Buffer.from('this is no archive'));
    const folder = scratchFolder();
    // The launcher takes the Node that runs it unless that is too old.
    const older = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`;
    const args = ['--import', older, 'scripts/run.mjs', join(folder, 'nothing.ts')];
    const env = { XDG_CACHE_HOME: folder, npm_config_registry: server.url, no_proxy: '127.0.0.1' };
    await using launcher = startSupervisor({ command: process.execPath, args, env });
    const code = await launcher.ended();
    caseFigure('openedDownloads', code === 0 || existsSync(join(folder, 'connector-sync', 'node', '26.10.0')));
    expect(code).toBe(1);
    expect(launcher.stderr()).toMatch(/@26\.10\.0 has not the digest sha512-.*: it was not opened/);
    expect(launcher.stderr()).not.toContain('TAR_BAD_ARCHIVE');
    expect(existsSync(join(folder, 'connector-sync', 'node', '26.10.0'))).toBe(false);
  });
});
