import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { stringify } from 'yaml';
import { hasCode } from '../../core/error-code.ts';
import { importDocument, importFormats } from '../../core/import/import.ts';
import type { ImportReport, ImportResult } from '../../core/import/import-result.ts';
import { SpecKey } from '../../core/json/property-names.ts';
import { usageError } from '../command-error.ts';
import { type CommandResult, createProgress } from '../output.ts';
import type { Tools } from '../tools.ts';

/** Descriptions of large APIs have a dozen MB. */
const documentBytesMax = 33_554_432;
/** Multiple of the service's limits on imported documents. */
const sizeTimes = 20;

export interface ImportArguments {
  readonly key?: string;
  readonly out?: string;
}

export async function importFile(
  tools: Tools,
  given: string,
  name: string,
  { key, out }: ImportArguments,
): Promise<CommandResult> {
  if (key !== undefined && !v.is(SpecKey, key)) throw usageError('--key takes a key of a spec, such as acme-crm.');
  const format = importFormats.find((one) => one === given);
  if (format === undefined)
    throw usageError(`"${given}" cannot be imported. The formats are: ${importFormats.join(', ')}.`);
  const document = await readText(resolve(tools.folder, name), name);
  const { spec, report } = await importDocument({ format, document, key, times: sizeTimes });
  const text = stringify(spec, { lineWidth: 0 });
  const file = out === undefined ? null : await writeSpec(tools, out, keyOf(spec), text);
  const lines = linesOf(report);
  if (file !== null)
    return { json: { file, spec, report }, lines: [`wrote ${file}`, ...lines, `  css validate ${file} checks it.`] };
  const progress = createProgress(tools);
  for (const line of lines) progress.say(line);
  return { json: { file, spec, report }, lines: text.trimEnd().split('\n') };
}

function linesOf(report: readonly ImportReport[]): readonly string[] {
  const refused = report.filter(({ status }) => status === 'refused');
  const doubtful = report.filter(({ status, reason }) => status === 'converted' && reason !== null);
  return [
    `${report.length - refused.length} of ${report.length} converted`,
    ...doubtful.map(({ name, reason }) => `  ${name} ${reason}`),
    ...refused.map(({ name, path, reason }) => `  ${name} is left out: ${[path, reason].filter(Boolean).join(': ')}`),
  ];
}

const keyOf = ({ metadata }: ImportResult['spec']): string => v.parse(v.object({ key: v.string() }), metadata).key;

async function readText(path: string, name: string): Promise<string> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size === null) throw usageError(`${name} cannot be read: there is no such file.`);
  if (size > documentBytesMax) throw usageError(`${name} is longer than ${documentBytesMax} bytes.`);
  return await readFile(path, 'utf8');
}

/** Never overwrites a file: an author may have changed it. */
async function writeSpec({ folder }: Tools, out: string, key: string, text: string): Promise<string> {
  const file = join(out, `${key}.yaml`);
  await mkdir(resolve(folder, out), { recursive: true });
  try {
    await writeFile(resolve(folder, file), text, { flag: 'wx' });
    return file;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    throw usageError(`${file} exists: delete it, or choose another --out or --key.`, error);
  }
}
