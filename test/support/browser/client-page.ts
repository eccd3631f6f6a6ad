import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';

const root = join(import.meta.dirname, '../../..');
const packageFolder = join(root, 'clients/typescript');

/** The modules of the typed client, compiled as `npm pack` compiles them; disposing removes them. */
export interface BuiltClient extends AsyncDisposable {
  /** Its `dist`. */
  readonly folder: string;
  /** The module that the package exports, within that folder. */
  readonly entry: string;
}

/** Compiles it into a folder of its own, so that a test which packs it is not disturbed. */
export async function buildClient(): Promise<BuiltClient> {
  const folder = await mkdtemp(join(tmpdir(), 'connector-sync-client-'));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '--project', join(packageFolder, 'tsconfig.build.json'), '--outDir', folder];
  await promisify(execFile)(process.execPath, args, { timeout: 50_000, killSignal: 'SIGKILL' });
  const { exports } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'));
  return {
    folder,
    entry: exports['.'].default.replace('./dist/', ''),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A page that can import the client, and what went wrong in it. */
export interface ClientPage extends AsyncDisposable {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** The modules that it loaded. */
  readonly modules: readonly string[];
}

/** Opens a page of that origin; the browser, not the service, is given the page and the modules. */
export async function openClientPage(browser: Browser, client: BuiltClient, origin: string): Promise<ClientPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  const modules: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const imports = JSON.stringify({ imports: { '@connector-sync/client': `/client/${client.entry}` } });
  await page.route(`${origin}/client/**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice('/client/'.length);
    if (name === '') {
      const body = `<!doctype html><title>Client</title><script type="importmap">${imports}</script>`;
      return await route.fulfill({ contentType: 'text/html', body });
    }
    modules.push(name);
    return await route.fulfill({ contentType: 'text/javascript', body: await readFile(join(client.folder, name)) });
  });
  await page.goto(`${origin}/client/`);
  return { page, complaints, modules, [Symbol.asyncDispose]: () => context.close() };
}
