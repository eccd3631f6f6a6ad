import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflate } from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

/** A real browser; disposing ends it. */
export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

/**
 * Chromium without a window: on Linux (x64) the one that a package brings, with the libraries and the font that a bare
 * machine lacks; elsewhere the Chrome that is installed.
 */
export async function openBrowser(): Promise<TestBrowser> {
  const stack = new AsyncDisposableStack();
  const packed = process.platform === 'linux' && process.arch === 'x64';
  const launch = packed ? await unpack(stack) : { channel: 'chrome' };
  const browser = await chromium.launch(launch);
  stack.defer(() => browser.close());
  return { browser, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Some 4 s and 220 MB, in a folder that goes with the browser. */
async function unpack(stack: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-browser-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const packed = fileURLToPath(new URL('../bin/', import.meta.resolve('@sparticuz/chromium')));
  const unpacked = async (name: string) => inflate(join(packed, name));
  const { TMPDIR } = process.env;
  try {
    // The package unpacks to where this points.
    process.env['TMPDIR'] = folder;
    const names = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'];
    const [executablePath, libraries = '', fonts = ''] = await Promise.all(names.map(unpacked));
    const fontConfig = join(folder, 'fonts.conf');
    const caches = `<cachedir>${join(folder, 'font-cache')}</cachedir>`;
    await writeFile(fontConfig, `<fontconfig><dir>${fonts}</dir>${caches}</fontconfig>`);
    const paths = { LD_LIBRARY_PATH: join(libraries, 'lib'), FONTCONFIG_FILE: fontConfig, HOME: folder };
    return { executablePath: executablePath ?? '', env: { ...definedIn(process.env), TMPDIR: folder, ...paths } };
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
}

const definedIn = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
