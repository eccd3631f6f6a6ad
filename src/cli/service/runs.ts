import { parseCount } from '../assignments.ts';
import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { RunRows } from './rows.ts';
import { errorOf, statsOf } from './run-lines.ts';
import { openService, type ServiceArguments } from './service.ts';

export interface RunsArguments extends ServiceArguments {
  readonly connection?: string;
  readonly resource?: string;
  readonly status?: string;
  readonly limit: string;
}

/** Without a connection, each row names its own. */
export async function runs(tools: Tools, args: RunsArguments): Promise<CommandResult> {
  const { connection: connectionId, resource, status } = args;
  const limit = String(parseCount('--limit', args.limit));
  const given = Object.entries({ connectionId, resource, status, limit }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const service = await openService(tools, args);
  const rows = await service.call(RunRows, 'GET', `/runs?${new URLSearchParams(Object.fromEntries(given)).toString()}`);
  return {
    json: rows,
    lines:
      rows.length === 0
        ? ['There is no such run.']
        : table(
            rows.map((run) => [
              run.startedAt ?? 'not started',
              run.id,
              ...(connectionId === undefined ? [run.connectionId] : []),
              run.resourceKey,
              run.trigger,
              run.status,
              [statsOf(run), errorOf(run)].filter(Boolean).join('; '),
            ]),
          ),
  };
}
