import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../core/printable.ts';
import type { CallLogRow, RunRow } from '../../core/resources/run.ts';
import { parseCount } from '../assignments.ts';
import { exitCodes, usageError } from '../command-error.ts';
import type { CommandResult } from '../output.ts';
import type { Tools } from '../tools.ts';
import { CallRows, RunRows } from './rows.ts';
import { callCells, errorOf, isFinal, statsOf } from './run-lines.ts';
import { openService, type Service, type ServiceArguments, segment } from './service.ts';

const pollMs = 1000;

export interface LogsArguments extends ServiceArguments {
  readonly resource?: string;
  readonly runs: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

interface LoggedRun {
  readonly run: RunRow;
  readonly calls: readonly CallLogRow[];
}

/** `css logs`: oldest first; `--follow` waits for more. */
export async function logs(tools: Tools, connectionId: string, args: LogsArguments): Promise<CommandResult> {
  if (args.follow && args.json)
    throw usageError('--follow has no end, so it cannot be one JSON document: leave out one of them.');
  const count = parseCount('--runs', args.runs);
  const service = await openService(tools, args);
  const wanted = {
    connectionId,
    ...(args.resource === undefined ? {} : { resource: args.resource }),
    limit: String(count),
  };
  const printer = createPrinter();
  const logged = await readRuns(service, wanted, () => true);
  if (!args.follow)
    return { json: logged, lines: logged.length === 0 ? ['There is no run.'] : printer.linesOf(logged) };
  write(tools, printer.linesOf(logged));
  while (!tools.signal.aborted) {
    // An interrupt ends the wait.
    await sleep(pollMs, undefined, { signal: tools.signal }).catch(() => undefined);
    if (tools.signal.aborted) break;
    write(tools, printer.linesOf(await readRuns(service, wanted, (run) => printer.hasMore(run))));
  }
  return { json: null, lines: [], exitCode: exitCodes.interrupted };
}

/** Oldest first. */
async function readRuns(
  service: Service,
  wanted: Readonly<Record<string, string>>,
  isWanted: (run: RunRow) => boolean,
): Promise<readonly LoggedRun[]> {
  const runs = await service.call(RunRows, 'GET', `/runs?${new URLSearchParams(wanted).toString()}`);
  const logged: LoggedRun[] = [];
  for (const run of runs.toReversed().filter(isWanted))
    logged.push({ run, calls: await service.call(CallRows, 'GET', `/runs/${segment(run.id)}/calls`) });
  return logged;
}

function createPrinter() {
  const printed = new Map<string, { readonly status: string; readonly calls: number }>();
  return {
    hasMore: (run: RunRow): boolean => {
      const { status } = printed.get(run.id) ?? {};
      return status === undefined || status !== run.status || !isFinal(run);
    },
    linesOf: (logged: readonly LoggedRun[]): readonly string[] =>
      logged.flatMap(({ run, calls }) => {
        const before = printed.get(run.id) ?? { status: '', calls: 0 };
        printed.set(run.id, { status: run.status, calls: calls.length });
        const begins =
          before.status === ''
            ? [`${run.startedAt ?? 'not started'}  ${run.id}  ${run.resourceKey}  ${run.trigger}`]
            : [];
        const sent = calls.slice(before.calls).map((call) => `  ${callCells(call).join('  ')}`);
        const error = errorOf(run);
        const ends =
          isFinal(run) && before.status !== run.status
            ? [`  ${run.status}: ${statsOf(run)}`, ...(error === '' ? [] : [`  ${error}`])]
            : [];
        return [...begins, ...sent, ...ends];
      }),
  };
}

function write({ stdout }: Tools, lines: readonly string[]): void {
  for (const line of lines) stdout.write(`${printable(line)}\n`);
}
