/** The command line of authors: `css validate people.yaml`, or in a clone `npm run --silent css -- validate people.yaml`. */
import { runCommandLine } from './cli/program.ts';
import { endOnUncaught } from './process/entry.ts';

/** Ctrl-C ends the work in progress, which is then shown; the second one ends the process. */
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

/** The launcher and npm change the folder: paths of the command line are relative to that of the caller. */
function callersFolder(): string {
  const { CSS_CALLED_FROM, npm_lifecycle_event, INIT_CWD } = process.env;
  return CSS_CALLED_FROM ?? (npm_lifecycle_event === 'css' ? INIT_CWD : undefined) ?? process.cwd();
}
