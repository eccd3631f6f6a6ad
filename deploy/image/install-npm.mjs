/**
 * `node install-npm.mjs <version> <integrity> <folder>`: installs npm below a folder, once its archive is the one with that digest.
 * Runs under the Node of the base image, while the image is built.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { installPackage } from '../../scripts/launcher/package.mjs';

const [version, integrity, prefix] = process.argv.slice(2);
if (!version || !integrity || !prefix) throw new Error('usage: install-npm.mjs <version> <integrity> <folder>');

/** @type {import('../../scripts/launcher/package.mjs').Run} */
const run = async (program, args, options) => {
  const [code] = await once(spawn(program, args, /** @type {any} */ (options)), 'close');
  return { code };
};
await installPackage({ name: 'npm', version, integrity }, { prefix, run });
