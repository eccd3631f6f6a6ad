/** Loaded by each process of the service, before its own code: plants the bug that CONVERGE_PLANT names. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { plants } from './plants.ts';

const plant = plants.find(({ name }) => name === process.env['CONVERGE_PLANT']);
const place = plant && new URL(`../../${plant.file}`, import.meta.url).href;

registerHooks({
  load(url, context, next) {
    if (!plant || url !== place) return next(url, context);
    const source = readFileSync(fileURLToPath(url), 'utf8');
    if (!source.includes(plant.code)) throw new Error(`${plant.file} has no place for the bug "${plant.name}"`);
    return { format: 'module-typescript', source: source.replace(plant.code, () => plant.bug), shortCircuit: true };
  },
});
