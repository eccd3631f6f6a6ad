import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { commandLine, identify } from '../src/dev/embedded/process-table.ts';
import { type SupervisorProcess, startSupervisor } from '../test/embedded/supervisor-process.ts';
import { eventually } from '../test/support/service/eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'connector-sync-run-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the lines under the launcher; they say `{"pid":…}` first. */
function run(name: string, lines: string): SupervisorProcess {
  const file = join(folder, `${name}.ts`);
  writeFileSync(
    file,
    `const say = (fact: object): void => console.log(JSON.stringify(fact));\n${lines}\nsay({ pid: process.pid, args: process.argv.slice(2) });\n`,
  );
  return startSupervisor({ command: process.execPath, args: ['scripts/run.mjs', file, 'a', '--b'], env: {} });
}

const waiting = 'setInterval(() => undefined, 1000);';

describe('scripts/run.mjs', () => {
  it('hands on arguments and exit code, and adds no line of its own', async () => {
    await using launcher = run('code', 'process.exitCode = 3;');
    expect((await launcher.line('pid'))['args']).toEqual(['a', '--b']);
    expect(await launcher.ended()).toBe(3);
    expect(launcher.stderr()).toBe('');
  });

  it('dies of the signal its target died of', async () => {
    await using launcher = run('signal', waiting);
    process.kill(Number((await launcher.line('pid'))['pid']), 'SIGKILL');
    expect(await launcher.ended()).toBe('SIGKILL');
  });

  it('hands on Ctrl-C once, although npm repeats it', async () => {
    await using launcher = run(
      'once',
      `${waiting} let count = 0; process.on('SIGINT', () => console.log(JSON.stringify({ count: count += 1 }))); process.on('SIGTERM', () => process.exit(count));`,
    );
    await launcher.line('pid');
    launcher.killGroup('SIGINT');
    launcher.kill('SIGINT');
    await launcher.line('count');
    launcher.kill('SIGTERM');
    expect(await launcher.ended()).toBe(1);
  });

  it('leaves no target behind when it is killed', async () => {
    await using launcher = run('killed', waiting);
    const pid = Number((await launcher.line('pid'))['pid']);
    expect(commandLine(pid)).toContain('killed.ts');
    launcher.kill('SIGKILL');
    expect(await eventually('the target is gone', async () => identify(pid) === null)).toBe(true);
  });
});

describe('the compiled modules in the cache', () => {
  it('are thrown away when others may have written some of them, or could', async () => {
    const cache = join(folder, 'compile-cache');
    const compiled = join(cache, 'connector-sync', 'compiled');
    const planted = join(compiled, 'v26-x64', 'planted');
    const plant = (mode: number) => {
      mkdirSync(dirname(planted), { recursive: true });
      writeFileSync(planted, '');
      chmodSync(planted, mode);
    };
    const file = join(folder, 'compiled.ts');
    writeFileSync(file, '');
    const start = async () => {
      const args = ['scripts/run.mjs', file];
      const env = { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: undefined };
      await using launcher = startSupervisor({ command: process.execPath, args, env });
      expect(await launcher.ended()).toBe(0);
      return existsSync(planted);
    };
    plant(0o600);
    expect(await start()).toBe(true);
    plant(0o666);
    expect(await start()).toBe(false);
    plant(0o600);
    chmodSync(compiled, 0o777);
    expect(await start()).toBe(false);
    plant(0o600);
    chmodSync(join(cache, 'connector-sync'), 0o777);
    expect(await start()).toBe(false);
  });
});

describe('the Node in the cache', () => {
  it('is never run when it is not the one that was fetched', async () => {
    const cache = join(folder, 'cache');
    const program = join(cache, 'connector-sync', 'node', '26.10.0', 'bin', 'node');
    const ran = join(folder, 'ran');
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, `#!/bin/sh\n: > ${ran}\n`, { mode: 0o755 });
    // The launcher takes the Node that runs it unless that is too old.
    const older = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`;
    const args = ['--import', older, 'scripts/run.mjs', join(folder, 'nothing.ts')];
    const env = { XDG_CACHE_HOME: cache, CSS_NO_DOWNLOAD: '1' };
    await using launcher = startSupervisor({ command: process.execPath, args, env });
    expect(await launcher.ended()).toBe(1);
    expect(launcher.stderr()).toContain(`${program} is not the program that was fetched`);
    expect(launcher.stderr()).toContain('CSS_NO_DOWNLOAD=1 forbids');
    expect(existsSync(ran)).toBe(false);
  });
});
