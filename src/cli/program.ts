/**
 * The command line for authors of connectors. Commands on a file need no service; the others call the REST API of the
 * profile in use.
 */
import { Command, CommanderError } from 'commander';
import { printable } from '../core/printable.ts';
import { type CommandError, exitCodes, shownError, usageError } from './command-error.ts';
import { addFileCommands } from './file-commands.ts';
import { issueLine, type Perform } from './output.ts';
import { addProfileCommands } from './profile-commands.ts';
import { addServiceCommands } from './service-commands.ts';
import type { Tools } from './tools.ts';

const about = `Write, try and publish connectors.

Commands on a FILE need no service: validate, test, try, record, diff, import. The others call the REST API at the address of the profile in use (css profile), or at CSS_API_URL with the key in CSS_API_KEY.`;

const exitCodeText = `
--json prints one JSON document on stdout and nothing else.

Exit codes
  0    success
  1    what the command looked at is wrong or failed: an invalid spec, a failing test, a failed run, a rejected request
  2    the command line is not understood, or a file cannot be read
  3    the service cannot be reached, or rejects the API key
  78   wrong configuration: a variable of the environment, or the file of profiles
  130  interrupted`;

/** Resolves with the exit code; never rejects. */
export async function runCommandLine(args: readonly string[], tools: Tools): Promise<number> {
  const wantsJson = args.includes('--json');
  const words = args.length === 0 ? ['--help'] : args;
  let exitCode: number = exitCodes.ok;
  const program = createProgram(tools, async (work) => {
    const result = await work();
    exitCode = result.exitCode ?? exitCodes.ok;
    const text = wantsJson ? JSON.stringify(result.json) : result.lines.map(printable).join('\n');
    if (text !== '') tools.stdout.write(`${text}\n`);
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const shown = await shownError(error instanceof CommanderError ? usageOf(error) : error);
    printError(tools, shown, wantsJson);
    return shown.exitCode;
  }
}

/** Also for the tests of the documentation. */
export function createProgram(tools: Tools, perform: Perform): Command {
  const program = new Command('css')
    .description(about)
    .addHelpText('after', exitCodeText)
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => tools.stdout.write(text),
      // Its errors are printed with all others.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(tools.stdout.columns ?? 100, 100),
    });
  addFileCommands(program, tools, perform);
  addServiceCommands(program, tools, perform);
  addProfileCommands(program, tools, perform);
  for (const command of everyCommand(program)) {
    command.exitOverride().copyInheritedSettings(program).helpCommand(false);
    if (command.commands.length === 0) command.option('--json', 'print one JSON document');
  }
  return program;
}

export const everyCommand = (command: Command): readonly Command[] =>
  command.commands.flatMap((one) => [one, ...everyCommand(one)]);

function usageOf({ code, message }: CommanderError): CommandError {
  if (code === 'commander.help') return usageError('Name a command; --help lists them.');
  const sentence = message.replace(/^error: /, '');
  return usageError(
    `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}. css COMMAND --help shows how it is used.`,
  );
}

function printError({ stdout, stderr }: Tools, { code, message, issues }: CommandError, wantsJson: boolean): void {
  const lines = [...message.split('\n'), ...(issues ?? []).map((issue) => `  ${issueLine(issue)}`)];
  stderr.write(`${lines.map(printable).join('\n')}\n`);
  if (wantsJson) stdout.write(`${JSON.stringify({ error: { code, message, ...(issues ? { issues } : {}) } })}\n`);
}
