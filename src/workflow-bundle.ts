import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';
import { failureConverterPath } from './data-converter.ts';

const folder = fileURLToPath(new URL('../workflows', import.meta.url));
const sdk = fileURLToPath(new URL('../node_modules/@temporalio/worker/package.json', import.meta.url));

/**
 * The bundle of the workflows, as a file. Bundling takes 1 to 3 s of CPU, so the result is kept under its content: a
 * worker that is started again polls that much earlier.
 *
 * @param cacheDir where bundles are kept; when it cannot be written, the bundle is made each time.
 */
export async function workflowBundle(
  cacheDir: string,
  logger: Logger,
): Promise<{ readonly codePath: string } | { readonly code: string }> {
  const codePath = join(cacheDir, `workflows-${await contentHash()}.js`);
  if (existsSync(codePath)) return { codePath };
  const workflowsPath = join(folder, 'index.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, failureConverterPath, logger });
  try {
    await mkdir(cacheDir, { recursive: true });
    const draft = `${codePath}.${process.pid}`;
    await writeFile(draft, code);
    await rename(draft, codePath);
    return { codePath };
  } catch (error) {
    logger.warn('workflow bundle not kept', { error });
    return { code };
  }
}

/** Of everything that decides what is in the bundle: the sources and the version of the SDK. */
async function contentHash(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(sdk));
  for (const file of (await readdir(folder)).toSorted()) hash.update(file).update(await readFile(join(folder, file)));
  return hash.digest('hex').slice(0, 16);
}
