/** The command line of authors: `css validate people.yaml`, or in a clone `npm run --silent css -- validate people.yaml`. */
import { runCommandLine } from './cli/program.ts';
import { endOnUncaught } from './process/entry.ts';

/** The first Ctrl-C ends the work in progress and shows its result; the second ends the process. */
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
process.once('SIGTERM', () => interrupt.abort());
// A reader such as `head` has seen enough.
process.stdout.on('error', () => process.exit(0));
endOnUncaught({
  error: (message) => process.stderr.write(`${message}\n`),
});
process.exitCode = await runCommandLine(process.argv.slice(2), {
  env: process.env,
  folder: callersFolder(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupt.signal,
});

/** The launcher and npm change the folder: paths on the command line are relative to the caller's. */
function callersFolder(): string {
  const { CSS_CALLED_FROM, npm_lifecycle_event, INIT_CWD } = process.env;
  return CSS_CALLED_FROM ?? (npm_lifecycle_event === 'css' ? INIT_CWD : undefined) ?? process.cwd();
}
