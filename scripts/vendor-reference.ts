/**
 * `node scripts/run.mjs scripts/vendor-reference.ts <version> <integrity>`: keeps the API reference's script from
 * `@scalar/api-reference`, compressed, in `src/api/reference`. An archive with another digest is not opened. As a
 * dependency it would bring 270 packages: docs/adr/0048-a-reference-and-a-client-from-one-document.md.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fetchPackage, type Run } from './launcher/package.mjs';

const folder = join(import.meta.dirname, '../src/api/reference');
const script = 'package/dist/browser/standalone.js';

const [version, integrity] = process.argv.slice(2);
if (version === undefined || integrity === undefined) {
  throw new Error('usage: node scripts/run.mjs scripts/vendor-reference.ts <version> <integrity>');
}
const wanted = { name: '@scalar/api-reference', version, integrity };
const run: Run = async (program, args, { cwd, shell }) => ({
  code: spawnSync(program, args, { cwd, shell, stdio: 'inherit' }).status,
});

const draft = mkdtempSync(join(tmpdir(), 'connector-sync-reference-'));
try {
  writeFileSync(join(draft, 'archive.tgz'), await fetchPackage(wanted, run));
  execFileSync('tar', ['-xzf', 'archive.tgz', script], { cwd: draft });
  const bytes = readFileSync(join(draft, script));
  for (const earlier of globSync('scalar-*.js.gz', { cwd: folder })) rmSync(join(folder, earlier));
  writeFileSync(join(folder, `scalar-${version}.js.gz`), gzipSync(bytes, { level: 9 }));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(folder, 'scalar.json'), `${JSON.stringify({ version, integrity, sha256 }, null, 2)}\n`);
} finally {
  rmSync(draft, { recursive: true });
}
