import * as v from 'valibot';
import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { QuarantineRows } from './rows.ts';
import { openService, type ServiceArguments } from './service.ts';

const Reasons = v.array(v.object({ path: v.string(), message: v.string() }));

export interface QuarantineArguments extends ServiceArguments {
  readonly open?: boolean;
}

export async function quarantine(
  tools: Tools,
  connectionId: string,
  args: QuarantineArguments,
): Promise<CommandResult> {
  const service = await openService(tools, args);
  const every = await service.call(
    QuarantineRows,
    'GET',
    `/quarantine?${new URLSearchParams({ connectionId }).toString()}`,
  );
  const rows = args.open ? every.filter(({ resolvedAt }) => resolvedAt === null) : every;
  const cells = rows.map(({ id, resourceKey, externalId, validationErrors, resolvedAt }) => [
    id,
    resourceKey,
    externalId,
    resolvedAt === null ? 'open' : 'resolved',
    reasonsOf(validationErrors),
  ]);
  return {
    json: rows,
    lines: rows.length === 0 ? [args.open ? 'No record is open.' : 'No record is quarantined.'] : table(cells),
  };
}

function reasonsOf(errors: unknown): string {
  const { success, output } = v.safeParse(Reasons, errors);
  if (!success) return '';
  return output.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}
