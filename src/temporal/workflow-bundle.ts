import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';
import { isOwn, ownFolder } from '../process/cached-program.mjs';
import { failureConverterPath, sealedInputsPath } from './data-converter.ts';

const sources = fileURLToPath(new URL('../../workflows', import.meta.url));
const sdk = fileURLToPath(new URL('../../node_modules/@temporalio/worker/package.json', import.meta.url));

interface BundleOptions {
  /** True for a versioned worker: its workflows declare which of them follow the current build. */
  readonly isVersioned: boolean;
  readonly logger: Logger;
  readonly workflowInterceptorModules?: readonly string[];
}

/**
 * Bundling takes 1 to 3 s of CPU, so the result is cached by its content: a restarted worker polls that much earlier.
 *
 * @param cacheDir parent of the cache folder `workflows`. If it cannot be written, or others can write to it, the bundle is
 * made each time.
 */
export async function workflowBundle(
  cacheDir: string,
  { isVersioned, logger, workflowInterceptorModules = [] }: BundleOptions,
): Promise<{ readonly codePath: string } | { readonly code: string }> {
  const folder = bundleFolder(cacheDir, logger);
  const entry = isVersioned ? 'versioned' : 'index';
  const codePath = folder && join(folder, `workflows-${entry}-${await contentHash(workflowInterceptorModules)}.js`);
  if (codePath !== null && isKept(codePath, logger)) return { codePath };
  const workflowsPath = join(sources, `${entry}.ts`);
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    failureConverterPath,
    workflowInterceptorModules: [sealedInputsPath, ...workflowInterceptorModules],
    logger,
  });
  if (codePath === null) return { code };
  try {
    const draft = `${codePath}.${process.pid}`;
    await rm(draft, { recursive: true, force: true });
    // Always a new file: a file that others could write to is never run.
    await writeFile(draft, code, { flag: 'wx', mode: 0o644 });
    await rename(draft, codePath);
    return { codePath };
  } catch (error) {
    logger.warn('workflow bundle not cached', { error });
    return { code };
  }
}

/** True if the bundle exists, and only we or root can have written it. */
function isKept(codePath: string, logger: Logger): boolean {
  if (!existsSync(codePath)) return false;
  if (isOwn(codePath)) return true;
  logger.warn('the kept workflow bundle may have been written by another user; it is made anew', { codePath });
  return false;
}

/** `null` if bundles cannot be cached. */
function bundleFolder(cacheDir: string, logger: Logger): string | null {
  const path = join(cacheDir, 'workflows');
  try {
    ownFolder(cacheDir);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  } catch (error) {
    logger.warn('workflow bundle not cached', { error });
    return null;
  }
}

async function contentHash(modules: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(await readFile(sdk));
  hash.update(JSON.stringify(modules));
  for (const file of (await readdir(sources)).toSorted()) hash.update(file).update(await readFile(join(sources, file)));
  return hash.digest('hex').slice(0, 16);
}
