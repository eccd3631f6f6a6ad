import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ServiceProcess, startServiceProcess } from '../../support/service/service-process.ts';

/** Minutes that building the heaviest server may take on two cores. */
const buildMinutes = 45;

/** Runs a program to its end; returns what it prints. */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const options = { env: { ...process.env, ...env }, timeout: buildMinutes * 60_000, maxBuffer: 100_000_000 };
  const { stdout } = await promisify(execFile)(program, args, { ...options, ...(cwd === undefined ? {} : { cwd }) });
  return stdout;
}

/** Starts a program that runs until it is destroyed, or until we end. */
export const serve = (
  name: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ServiceProcess =>
  startServiceProcess({ name, command, args, env: { ...process.env, ...env }, watchesParent: false });
