/** Prints what an import makes of manifests, as a table: `node scripts/run.mjs test/differential/table.ts <folder>`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { importAirbyte } from '../../src/core/import/airbyte/airbyte.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: table.ts <folder of manifests>');
const totals = { converted: 0, streams: 0 };
const lines = ['| package | converted | refused |', '|---|---|---|'];
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .toSorted()) {
  const manifest: unknown = parse(readFileSync(join(folder, file), 'utf8'), { maxAliasCount: -1, logLevel: 'silent' });
  const { spec, report } = importAirbyte(manifest);
  const converted = report.filter(({ status }) => status === 'converted').length;
  if (converted > 0 && !checkSpec(spec).valid) throw new Error(`${file}: the spec is not valid`);
  const reasons = new Map<string, number>();
  for (const { status, reason } of report) {
    const word = (reason ?? '').replace(/ \(at character.*/s, '').slice(0, 110);
    if (status === 'refused') reasons.set(word, (reasons.get(word) ?? 0) + 1);
  }
  const refused = [...reasons].map(([reason, count]) => `${count}: ${reason.replaceAll('|', '\\|')}`).join('; ');
  lines.push(`| ${file.replace('.yaml', '').replaceAll('_', '-')} | ${converted} of ${report.length} | ${refused} |`);
  totals.converted += converted;
  totals.streams += report.length;
}
lines.push(`| all | ${totals.converted} of ${totals.streams} | |`);
process.stdout.write(`${lines.join('\n')}\n`);
