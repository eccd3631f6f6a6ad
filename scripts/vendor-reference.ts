/**
 * `node scripts/run.mjs scripts/vendor-reference.ts <version>`: fetches the script of the API reference, one file of the
 * package `@scalar/api-reference`, and keeps it compressed in `src/api/reference`. As a dependency it would bring 270
 * packages: docs/adr/0048-a-reference-and-a-client-from-one-document.md.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const folder = join(import.meta.dirname, '../src/api/reference');
const script = 'package/dist/browser/standalone.js';

const [version] = process.argv.slice(2);
if (version === undefined) throw new Error('usage: node scripts/run.mjs scripts/vendor-reference.ts <version>');

const draft = mkdtempSync(join(tmpdir(), 'connector-sync-reference-'));
try {
  const options = { cwd: draft, encoding: 'utf8', shell: process.platform === 'win32' } as const;
  const packed = execFileSync('npm', ['pack', '--json', `@scalar/api-reference@${version}`], options);
  const [{ filename, integrity }] = JSON.parse(packed);
  execFileSync('tar', ['-xzf', filename, script], options);
  const bytes = readFileSync(join(draft, script));
  for (const earlier of globSync('scalar-*.js.gz', { cwd: folder })) rmSync(join(folder, earlier));
  writeFileSync(join(folder, `scalar-${version}.js.gz`), gzipSync(bytes, { level: 9 }));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(folder, 'scalar.json'), `${JSON.stringify({ version, integrity, sha256 }, null, 2)}\n`);
} finally {
  rmSync(draft, { recursive: true });
}
