/** Processes that run from a folder: they still load modules from its node_modules. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Each as `src/worker.ts (process 12)`. Launchers do not count: they have loaded everything, and may themselves wait
 * for the packages.
 * @param {string} root @returns {string[]}
 */
export function runningFrom(root) {
  const places = [join(root, 'src/'), `${pathToFileURL(root).href}/src/`];
  return processes().flatMap(({ pid, words, folder }) => {
    const isNode = /(?:^|[/\\])node(?:js)?(?:\.exe)?$/.test(words[0] ?? '');
    if (pid === process.pid || !isNode || words.some((word) => /(?:^|[/\\])scripts[/\\]run\.mjs$/.test(word)))
      return [];
    const isFrom = words.some((word) => places.some((place) => word.startsWith(place)));
    const isIn = folder === root && words.some((word) => /^(?:\.\/)?src\/.*\.ts$/.test(word));
    if (!isFrom && !isIn) return [];
    const program = words.findLast((word) => /\.(?:ts|mjs|js)$/.test(word)) ?? '';
    return [`${program.replace(join(root, '/'), '')} (process ${pid})`];
  });
}

/** Includes those of other users. @returns {{ pid: number, words: string[], folder: string | null }[]} */
function processes() {
  if (process.platform === 'win32') return [];
  if (process.platform !== 'linux') return listed();
  const entries = orNull(() => readdirSync('/proc')) ?? [];
  return entries.flatMap((name) => {
    const command = /^\d+$/.test(name) ? orNull(() => readFileSync(`/proc/${name}/cmdline`, 'utf8')) : null;
    if (!command) return [];
    return [{ pid: Number(name), words: command.split('\0'), folder: orNull(() => readlinkSync(`/proc/${name}/cwd`)) }];
  });
}

function listed() {
  const lines = orNull(() => execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' })) ?? '';
  return lines.split('\n').map((line) => {
    const [pid, ...words] = line.trim().split(/\s+/);
    return { pid: Number(pid), words, folder: null };
  });
}

/**
 * @template Value @param {() => Value} read @returns {Value | null} null when the process has ended, or is closed to us
 */
function orNull(read) {
  try {
    return read();
  } catch {
    return null;
  }
}
