import type { Logger } from '@temporalio/common';
import { idsOfWorkflow } from '../../workflows/input-ids.ts';
import type { Log, LogFields } from '../log.ts';

/** An SDK warning about an intended setup: only the queue of workflows has workflows. */
const meant = 'No workflows registered, not polling for workflow tasks';

/** Written with `debug` before the SDK has read the input, so without ids; the line at the end has the duration. */
const early: ReadonlySet<string> = new Set(['Activity started', 'Workflow started']);

/** The log for Temporal's `Runtime.install`, so that lines of the SDK and its core have our form. */
export function temporalLogger(log: Log): Logger {
  const warn: Log['warn'] = (message, fields) => (message === meant ? log.debug : log.warn)(message, fields);
  const debug: Log['debug'] = (message, fields) => (early.has(message) ? log.trace : log.debug)(message, fields);
  const at = { TRACE: log.trace, DEBUG: debug, INFO: log.info, WARN: warn, ERROR: log.error } as const;
  const write: Logger['log'] = (level, message, meta) => at[level](message, meta && inOurWords(meta));
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}

/** In log lines, `runId` is the service's run; Temporal's own, which no API of ours knows, is `workflowRunId`. */
function inOurWords({ runId, run_id, workflow_id, ...fields }: LogFields): LogFields {
  const isOurs = typeof runId === 'string' && runId.startsWith('run_');
  const workflowRunId = fields['workflowRunId'] ?? run_id ?? (isOurs ? undefined : runId);
  const workflowId = fields['workflowId'] ?? workflow_id;
  return {
    ...(typeof workflowId === 'string' && { workflowId, ...idsOfWorkflow(workflowId) }),
    ...fields,
    ...(isOurs && { runId }),
    ...(workflowRunId !== undefined && { workflowRunId }),
  };
}
