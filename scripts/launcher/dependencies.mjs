/** Brings node_modules in step with package-lock.json before anything of it is loaded. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { acquireLock } from './lock.mjs';
import { npmCommand } from './package.mjs';

/**
 * Runs `npm ci` when node_modules lacks something of the lockfile; one process at a time per checkout.
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv, run: (program: string, args: readonly string[], options: object) => Promise<{ code: number | null }> }} options
 */
export async function installDependencies({ root, node, env, run }) {
  if (isInstalled(root)) return;
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'connector-sync', 'locks');
  const release = await acquireLock(cache, `install-${name}`);
  try {
    if (isInstalled(root)) return;
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

/** Compares with what npm noted at its last install; times say nothing after a checkout. @param {string} root */
function isInstalled(root) {
  const noted = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(noted)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(noted, 'utf8')).packages;
  const withoutDev = process.env.NODE_ENV === 'production';
  return Object.entries(wanted).every(([path, { version, optional, dev, devOptional }]) => {
    const found = installed[path];
    if (path === '' || found?.version === version) return true;
    return found === undefined && (optional || devOptional || (withoutDev && dev));
  });
}
