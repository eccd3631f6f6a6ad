import { type CommandResult, table } from '../output.ts';
import type { Tools } from '../tools.ts';
import { CallRows } from './rows.ts';
import { callCells } from './run-lines.ts';
import { openService, type ServiceArguments, segment } from './service.ts';

export async function calls(tools: Tools, runId: string, args: ServiceArguments): Promise<CommandResult> {
  const service = await openService(tools, args);
  const rows = await service.call(CallRows, 'GET', `/runs/${segment(runId)}/calls`);
  return { json: rows, lines: rows.length === 0 ? ['The run has sent no request.'] : table(rows.map(callCells)) };
}
