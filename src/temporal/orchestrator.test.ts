import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createOrchestrator } from './orchestrator.ts';

it('has ten calls for an org in progress at once, and those for others at once beside them', async () => {
  const begun: string[] = [];
  const responds = Promise.withResolvers<void>();
  const start = async (_type: string, { priority }: { readonly priority: { readonly fairnessKey: string } }) => {
    begun.push(priority.fairnessKey);
    await responds.promise;
  };
  const withDeadline = <Result>(_deadline: number, call: () => Promise<Result>) => call();
  const { startRun } = createOrchestrator({ workflow: { start }, withDeadline } as unknown as Client, { warn() {} });
  const startFor = (orgId: string, runId: string) =>
    startRun({ orgId, runId, connectionId: 'con_1', resourceKey: 'items' }, 'manual');
  const flood = Array.from({ length: 500 }, (_, n) => startFor('org_flood', `run_${n}`));
  const other = startFor('org_other', 'run_other');
  await new Promise(setImmediate);
  expect(begun).toEqual([...Array.from({ length: 10 }, () => 'org_flood'), 'org_other']);
  responds.resolve();
  await Promise.all([...flood, other]);
  expect(begun).toHaveLength(501);
});
