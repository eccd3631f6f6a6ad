import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { download, pinned } from './download.ts';

const releases = 'https://github.com/temporalio/cli/releases/download';

/** The SHA-256 is compared before the archive is unpacked. */
export async function downloadArchive(
  platform: string,
  version: string,
  sha256: string,
  fetchBytes = download,
): Promise<Uint8Array> {
  const name = `temporal_cli_${version}_${platform.replace('-', '_').replace('x64', 'amd64')}.tar.gz`;
  const archive = pinned(await fetchBytes(`${releases}/v${version}/${name}`), sha256, name);
  const folder = mkdtempSync(join(tmpdir(), 'connector-sync-'));
  try {
    writeFileSync(join(folder, name), archive);
    execFileSync('tar', ['-xzf', name, 'temporal'], { cwd: folder, stdio: 'pipe' });
    return readFileSync(join(folder, 'temporal'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
