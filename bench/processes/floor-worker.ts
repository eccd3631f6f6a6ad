/** A worker with the settings of the SDK, whose activity does nothing. */
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { runJobs } from '../support/partner.ts';

export type FloorJobs = typeof jobs;
const jobs = runJobs({
  /** Resolves when it polls. */
  start: async ({ address, taskQueue }: { readonly address: string; readonly taskQueue: string }): Promise<void> => {
    const worker = await Worker.create({
      connection: await NativeConnection.connect({ address }),
      taskQueue,
      workflowsPath: fileURLToPath(new URL('../many/floor.ts', import.meta.url)),
      activities: { nothing: async () => undefined },
    });
    void worker.run();
  },
});
