/** Brings node_modules in step with package-lock.json before anything of it is loaded. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { acquireLock } from './lock.mjs';
import { npmCommand } from './package.mjs';
import { runningFrom } from './running.mjs';

/**
 * Runs `npm ci` when node_modules lacks a package of the lockfile, in one process per checkout. `npm ci` first removes
 * the folder, so it is skipped while a program runs from it; then only development packages may be missing.
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv, run: (program: string, args: readonly string[], options: object) => Promise<{ code: number | null }> }} options
 */
export async function installDependencies({ root, node, env, run }) {
  if (missing(root).length === 0) return;
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'connector-sync', 'locks');
  const release = await acquireLock(cache, `install-${name}`);
  try {
    const lacks = missing(root);
    if (lacks.length === 0) return;
    const running = existsSync(join(root, 'node_modules')) ? runningFrom(root) : [];
    if (running.length > 0) return leaveAlone(root, lacks, running);
    process.stderr.write('installing packages (npm ci)\n');
    const { npm, leading } = npmCommand();
    const program = leading.length > 0 ? node : npm;
    const args = [...leading, 'ci', '--loglevel=error'];
    const { code } = await run(program, args, {
      cwd: root,
      env,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32' && leading.length === 0,
    });
    if (code !== 0) throw new Error(`npm ci ended with code ${code}: correct what it reports above, then start again`);
  } finally {
    release();
  }
}

/**
 * Reports packages that are not installed now. Throws if the service itself needs some of them.
 * @param {string} root @param {Missing[]} lacks @param {string[]} running
 */
function leaveAlone(root, lacks, running) {
  const names = lacks.map(({ name }) => name);
  const shown = names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
  const told = `not installed, because ${running[0]} runs from ${root}: npm ci would replace its node_modules to add ${shown}`;
  if (lacks.some(({ dev }) => !dev))
    throw new Error(`${told}. Stop what runs there first, or use another folder for this version.`);
  process.stderr.write(`${told}, which only development needs; NODE_ENV=production leaves them out\n`);
}

/**
 * Compares the lockfile with npm's record of its last install; file times mean nothing after a checkout.
 * @typedef {{ name: string, dev: boolean }} Missing
 * @param {string} root @returns {Missing[]}
 */
function missing(root) {
  const noted = join(root, 'node_modules', '.package-lock.json');
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = existsSync(noted) ? JSON.parse(readFileSync(noted, 'utf8')).packages : {};
  const withoutDev = process.env.NODE_ENV === 'production';
  return Object.entries(wanted).flatMap(([path, { version, optional, dev, devOptional }]) => {
    const found = installed[path];
    if (path === '' || found?.version === version) return [];
    if (found === undefined && (optional || devOptional || (withoutDev && dev))) return [];
    return [{ name: `${path.replace(/^.*node_modules\//, '')}@${version}`, dev: dev === true && found === undefined }];
  });
}
