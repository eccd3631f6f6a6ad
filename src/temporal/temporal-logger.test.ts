import { describe, expect, it } from 'vitest';
import { createLog } from '../log.ts';
import { temporalLogger } from './temporal-logger.ts';

function capture() {
  const lines: string[] = [];
  const log = createLog({ level: 'info', name: 'test', destination: { write: (line) => void lines.push(line) } });
  return { log: temporalLogger(log), lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') };
}

describe('temporalLogger', () => {
  it("writes the SDK's lines in the form of ours", () => {
    const { log, last } = capture();
    log.log('WARN', 'worker slow', { attempt: 2n });
    expect(last()).toMatchObject({ level: 'warn', message: 'worker slow', attempt: '2' });
  });

  it('calls a run by our id, and the execution of its workflow by another name', () => {
    const { log, last } = capture();
    const workflowId = 'sync:con_1:contacts:run_1';
    const ids = { workflowId, connectionId: 'con_1', resourceKey: 'contacts', runId: 'run_1', workflowRunId: 'uuid' };
    log.warn('Workflow failed', { workflowId, runId: 'uuid' });
    expect(last()).toMatchObject(ids);
    log.log('WARN', 'of the core', { workflow_id: workflowId, run_id: 'uuid' });
    expect(last()).toMatchObject(ids);
    log.warn('Activity failed', { workflowId, workflowRunId: 'uuid', orgId: 'org_1', runId: 'run_2' });
    expect(last()).toMatchObject({ ...ids, orgId: 'org_1', runId: 'run_2' });
  });

  it('does not warn that a queue of activities has no workflows', () => {
    const { log, lines } = capture();
    log.warn('No workflows registered, not polling for workflow tasks', { taskQueue: 'css-sync' });
    log.log('WARN', 'No workflows registered, not polling for workflow tasks');
    expect(lines).toEqual([]);
  });
});
