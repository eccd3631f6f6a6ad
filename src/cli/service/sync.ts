import { setTimeout as sleep } from 'node:timers/promises';
import { RunRow } from '../../core/resources/run.ts';
import { exitCodes } from '../command-error.ts';
import { type CommandResult, createProgress } from '../output.ts';
import type { Tools } from '../tools.ts';
import { errorOf, isFinal, statsOf } from './run-lines.ts';
import { openService, type Service, type ServiceArguments, segment } from './service.ts';

const pollMs = 500;

export interface SyncArguments extends ServiceArguments {
  readonly follow?: boolean;
}

export interface RewindArguments extends SyncArguments {
  readonly to: string;
}

export const sync = (
  tools: Tools,
  connectionId: string,
  resource: string,
  args: SyncArguments,
): Promise<CommandResult> => request(tools, connectionId, { action: 'sync', body: { resource } }, args);

/** `css rewind`: delivers again all records after a time. */
export const rewind = (
  tools: Tools,
  connectionId: string,
  resource: string,
  { to, ...args }: RewindArguments,
): Promise<CommandResult> =>
  request(tools, connectionId, { action: 'backfill', body: { resource, rewindTo: to } }, args);

async function request(
  tools: Tools,
  connectionId: string,
  { action, body }: { readonly action: 'sync' | 'backfill'; readonly body: Readonly<Record<string, string>> },
  args: SyncArguments,
): Promise<CommandResult> {
  const service = await openService(tools, args);
  const path = `/connections/${segment(connectionId)}/${action}`;
  const requested = await service.call(RunRow, 'POST', path, { body });
  if (!args.follow) {
    const { id, status } = requested;
    return { json: requested, lines: [`${id}  ${status}`, `  css calls ${id} shows its requests.`] };
  }
  const run = await follow(tools, service, requested);
  const error = errorOf(run);
  const details =
    run.statsJson.quarantined > 0 ? [`  css quarantine ${connectionId} shows why records were quarantined.`] : [];
  return {
    json: run,
    lines: [
      `${run.id}  ${run.status}  ${statsOf(run)}`,
      ...(error === '' ? details : [`  ${error}`, `  css calls ${run.id} shows its requests.`]),
    ],
    exitCode: run.status === 'failed' || run.status === 'canceled' ? exitCodes.wrong : exitCodes.ok,
  };
}

async function follow(tools: Tools, service: Service, requested: RunRow): Promise<RunRow> {
  const progress = createProgress(tools);
  try {
    for (let run = requested; ; ) {
      if (isFinal(run)) return run;
      progress.now(`${run.resourceKey}: ${run.status}, ${statsOf(run)}  ${errorOf(run)}`);
      // An interrupt shows with the next request.
      await sleep(pollMs, undefined, { signal: tools.signal }).catch(() => undefined);
      run = await service.call(RunRow, 'GET', `/runs/${segment(run.id)}`);
    }
  } finally {
    progress.clear();
  }
}
