/** `npm run check`: every part runs, and all faults are shown. */
import { spawnSync } from 'node:child_process';
import { checkDoors } from './check-doors.ts';
import { checkLayers } from './check-layers.ts';
import { checkGenerated } from './generate.ts';

const parts: readonly (readonly [name: string, ...command: string[]])[] = [
  ['types', 'node_modules/typescript/bin/tsc'],
  ['types of what runs in browsers', 'node_modules/typescript/bin/tsc', '--project', 'src/embed-widget'],
  ['types of the page for customers', 'node_modules/typescript/bin/tsc', '--project', 'src/connect-page'],
  ['types of the script of the console', 'node_modules/typescript/bin/tsc', '--project', 'src/console/static'],
  ['types of the client', 'node_modules/typescript/bin/tsc', '--project', 'clients/typescript'],
  ['types of its examples', 'node_modules/typescript/bin/tsc', '--project', 'clients/typescript/examples'],
  ['lint', 'node_modules/oxlint/bin/oxlint', '--deny-warnings'],
  ['format', 'node_modules/@biomejs/biome/bin/biome', 'check'],
  ['dead code', 'node_modules/knip/bin/knip.js'],
];

const failed = parts.flatMap(([name, script = '', ...args]) => {
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' });
  return status === 0 ? [] : [name];
});
for (const [name, issues] of [
  ['layers', checkLayers('.')],
  ['doors', checkDoors('.')],
] as const) {
  if (issues.length === 0) continue;
  process.stderr.write(`${issues.join('\n')}\n`);
  failed.push(name);
}
const stale = await checkGenerated();
if (stale.length > 0) {
  process.stderr.write(`Out of step: ${stale.join(', ')}. Run: npm run generate\n`);
  failed.push('generated files');
}
if (failed.length > 0) {
  process.stderr.write(`check failed: ${failed.join(', ')}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write('check passed: types, lint, format, dead code, layers, doors, generated files\n');
}
