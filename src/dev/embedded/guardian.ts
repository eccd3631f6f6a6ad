/** Outlives the supervisor just long enough to stop its remaining processes. */
import * as v from 'valibot';
import { stopProcess } from './process-table.ts';

const Watched = v.array(
  v.object({
    pid: v.number(),
    start: v.string(),
    rank: v.number(),
    signal: v.picklist(['SIGINT', 'SIGTERM']),
    timeoutMs: v.number(),
  }),
);

let watched: v.InferOutput<typeof Watched> = [];

process.on('message', (message) => {
  watched = v.parse(Watched, message);
});

process.on('disconnect', () => {
  void stopAll().finally(() => process.exit(0));
});

// A signal to the whole session must not end the cleanup: only the end of the channel does.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

async function stopAll(): Promise<void> {
  for (const rank of [...new Set(watched.map((one) => one.rank))].sort((a, b) => a - b)) {
    await Promise.allSettled(watched.filter((one) => one.rank === rank).map((one) => stopProcess(one, one)));
  }
}
