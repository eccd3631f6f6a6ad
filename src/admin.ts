/** The operator's command line: `npm run admin -- org create --name Acme --json`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as v from 'valibot';
import { openDatabase } from '../db/client.ts';
import type { CommandResult } from './admin/command.ts';
import { type Command, commands, UsageError, usage } from './admin/commands.ts';
import { diagnose } from './admin/doctor/doctor.ts';
import { printError } from './admin/explain-error.ts';
import { type Config, loadConfig } from './config/config.ts';
import { AppError } from './core/errors.ts';
import { printable } from './core/printable.ts';
import { maskSecrets } from './log.ts';
import { configOrExit, endOnUncaught } from './process/entry.ts';

const Ready = v.pipe(v.string(), v.parseJson(), v.object({ databaseUrl: v.string(), temporalAddress: v.string() }));
/** Exit code for an invalid command line. */
const usageExitCode = 2;

endOnUncaught({ error: (_message, fields) => printError(fields?.['error']) });
try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) process.stderr.write(`${usage()}\n\n${maskSecrets(error.message)}\n`);
  else printError(error);
  process.exitCode = error instanceof UsageError ? usageExitCode : 1;
}

async function main(args: readonly string[]): Promise<void> {
  if (args.length === 0 || args.includes('--help')) {
    process.stdout.write(`${usage()}\n`);
    return;
  }
  if (args[0] === 'doctor') return runDoctor(args.slice(1));
  const named = (words: number) => commands.find(({ name }) => name === args.slice(0, words).join(' '));
  const command = named(1) ?? named(2);
  if (!command) throw new UsageError(`There is no command "${args.slice(0, 2).join(' ')}".`);
  const { json, ...options } = optionsOf(args.slice(command.name.split(' ').length), command);
  if (json && command.endless) throw new UsageError(`--json: "${command.name}" has no end, so it is no document`);
  const config = await withServices(configOrExit(process.env));
  const db = openDatabase(config.databaseUrl, {
    poolSize: 1,
    applicationName: 'connector-sync admin',
    onIdleError() {},
  });
  try {
    const show = (line: string) => process.stdout.write(`${line}\n`);
    const progress = (line: string) => process.stderr.write(`${line}\n`);
    print(await command.run({ db, config, show, progress }, options), json);
  } finally {
    await db.destroy();
  }
}

/** Opens no database itself, and reports configuration errors instead of exiting. */
async function runDoctor(args: readonly string[]): Promise<void> {
  const { json } = optionsOf(args, { options: [], flags: [] });
  print(await diagnose(async () => withServices(loadConfig(process.env))), json);
}

function print(result: CommandResult, json: unknown): void {
  process.stdout.write(`${json ? JSON.stringify(result.json) : result.lines.map(oneLine).join('\n')}\n`);
  if (result.failed) process.exitCode = 1;
}

/** Names of customers and orgs are their own. */
function oneLine(line: string): string {
  return printable(line).replaceAll('\n', '\ufffd');
}

function optionsOf(
  args: readonly string[],
  { options, flags }: Pick<Command, 'options' | 'flags'>,
): Readonly<Record<string, unknown>> {
  const typeOf = (name: string) => (flags.includes(name) ? ('boolean' as const) : ('string' as const));
  const named = Object.fromEntries(options.map((name) => [name, { type: typeOf(name) }]));
  try {
    return parseArgs({ args: [...args], options: { ...named, json: { type: 'boolean' } } }).values;
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Falls back to the database and Temporal server of a running `npm start`. */
async function withServices(config: Config): Promise<Config & { readonly databaseUrl: string }> {
  const { databaseUrl, dataDir, temporalConfigured } = config;
  if (databaseUrl !== null) return { ...config, databaseUrl };
  const path = join(dataDir, 'ready.json');
  try {
    const ready = v.parse(Ready, await readFile(path, 'utf8'));
    if (!temporalConfigured) process.env['TEMPORAL_ADDRESS'] = ready.temporalAddress;
    return { ...config, databaseUrl: ready.databaseUrl };
  } catch (cause) {
    throw new AppError(
      'conflict',
      `No service runs with the folder ${dataDir}. Start it (npm start), set DATA_DIR as for the one that runs, or set DATABASE_URL.`,
      { cause },
    );
  }
}
