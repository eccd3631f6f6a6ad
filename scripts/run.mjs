/**
 * Runs a file of this project under Node 24 or later: `node scripts/run.mjs <file> [...args]`. Itself needs Node 18 and
 * nothing installed: it fetches a Node and the packages of the lockfile if missing.
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isOwn, ownFolder } from '../src/process/cached-program.mjs';
import { installDependencies } from './launcher/dependencies.mjs';
import { cacheFolder, findNode } from './launcher/node.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** npm, our parent, cannot tell us when it is killed, so it is polled. */
const parentPollMs = 1000;

/** Ctrl-C reaches us from the terminal and again from npm: the same signal within this time counts once. */
const echoMs = 500;

/**
 * The current child process and the last signal.
 * @type {{ child?: import('node:child_process').ChildProcess, signal?: string, signaledAt: number }}
 */
const state = { signaledAt: 0 };

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, () => stop(signal));

try {
  const [file, ...args] = process.argv.slice(2);
  if (!file) throw new Error('usage: node scripts/run.mjs <file> [...args]');
  const node = await findNode({ run });
  const env = {
    ...compileCache(),
    // glibc keeps free memory for each thread that ever allocated: 30 MB of a worker that gain nothing (measured).
    MALLOC_ARENA_MAX: '1',
    // Half of them may wait for name servers; the others read files and compress.
    UV_THREADPOOL_SIZE: '64',
    ...process.env,
    PATH: `${dirname(node.path)}${delimiter}${process.env.PATH ?? ''}`,
  };
  await installDependencies({ root, node: node.path, env, run });
  await runTarget([...node.flags, ...watchParent(), resolve(root, file), ...args], node.path, env);
} catch (error) {
  if (state.signal) dieBy(state.signal);
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** Speeds up later starts. Node runs what it finds there, so a cache that others could have written is deleted. */
function compileCache() {
  const path = join(cacheFolder(), 'compiled');
  try {
    ownFolder(cacheFolder());
    ownFolder(path);
    if (!isOwn(path)) rmSync(path, { recursive: true, force: true });
    return { NODE_COMPILE_CACHE: path };
  } catch {
    return {};
  }
}

/**
 * Own process group, so that Ctrl-C reaches the target once, through us; the IPC channel reports our end.
 * @param {string[]} args @param {string} node @param {NodeJS.ProcessEnv} env
 */
async function runTarget(args, node, env) {
  const options = {
    cwd: root,
    env,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: process.platform !== 'win32',
  };
  const poll = watchNpm();
  const { code, signal } = await run(node, args, /** @type {any} */ (options));
  clearInterval(poll);
  if (signal) dieBy(signal);
  process.exitCode = code ?? 1;
}

/**
 * Rejects when the program cannot be started, or when we were told to stop.
 * @param {string} program @param {readonly string[]} args @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<{ code: number | null, signal: string | null }>}
 */
function run(program, args, options) {
  return new Promise((done, fail) => {
    if (state.signal) dieBy(state.signal);
    const child = spawn(program, args, options);
    state.child = child;
    child.once('error', fail);
    child.once('exit', (code, signal) => {
      delete state.child;
      done({ code, signal });
    });
  });
}

/** @param {string} signal */
function stop(signal) {
  const now = Date.now();
  const echo = state.signal === signal && now - state.signaledAt < echoMs;
  Object.assign(state, { signal, signaledAt: now });
  if (!state.child) dieBy(signal);
  else if (!echo) state.child.kill(signal);
}

/** @param {string} signal */
function dieBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  process.exit(128 + (constants.signals[signal] ?? 0));
}

/** Under `npm run`, a SIGKILL of npm shows only as a new parent: ours, or that of the shell in between. */
function watchNpm() {
  const started = ancestors();
  const watched = process.env.npm_lifecycle_event !== undefined && process.ppid > 1;
  return setInterval(() => watched && ancestors() !== started && stop('SIGTERM'), parentPollMs);
}

/** Only Linux has a shell that waits between npm and us, where `sh` is dash. */
function ancestors() {
  const stat = process.platform === 'linux' ? readFileSync(`/proc/${process.ppid}/stat`, 'utf8') : '';
  const grandparent = stat.slice(stat.lastIndexOf(')')).split(' ')[2] ?? '';
  return `${process.ppid} ${grandparent}`;
}

/** Stops the target, any target, when we die silently. */
function watchParent() {
  return ['--import', pathToFileURL(join(root, 'src/process/parent-watch.ts')).href];
}
