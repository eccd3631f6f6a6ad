import type { ReadyPage } from './batch.ts';

/** A page of a run without partitions, empty unless `parts` override it. */
export const readyPage = (parts: Partial<ReadyPage>): ReadyPage => ({
  pageNo: 1,
  requestKey: 'k',
  recordsIn: 0,
  skipped: 0,
  carried: 0,
  invalid: 0,
  outcomes: [],
  allNew: false,
  each: {},
  seen: [],
  gaps: [],
  proof: null,
  scan: null,
  positionAfter: null,
  partition: null,
  retried: [],
  incomplete: false,
  notes: {},
  completesGeneration: false,
  ...parts,
});
