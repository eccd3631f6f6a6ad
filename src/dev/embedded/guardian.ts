/** Process that outlives the supervisor just long enough to stop what it left behind. Started by `guard.ts`. */
import * as v from 'valibot';
import { stopProcess } from './process-table.ts';

const Wards = v.array(
  v.object({
    pid: v.number(),
    start: v.string(),
    rank: v.number(),
    signal: v.picklist(['SIGINT', 'SIGTERM']),
    timeoutMs: v.number(),
  }),
);

let wards: v.InferOutput<typeof Wards> = [];

process.on('message', (message) => {
  wards = v.parse(Wards, message);
});

process.on('disconnect', () => {
  void stopAll().finally(() => process.exit(0));
});

// Whoever ends the whole session must not end the one that cleans up; the channel's end is the only reason to go.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

async function stopAll(): Promise<void> {
  for (const rank of [...new Set(wards.map((ward) => ward.rank))].sort((a, b) => a - b)) {
    await Promise.allSettled(wards.filter((ward) => ward.rank === rank).map((ward) => stopProcess(ward, ward)));
  }
}
