/** Stories of a list that changes, and what must hold once it is at rest. */

import type { Evaluator } from '../../../src/core/expressions/evaluation.ts';
import { valueAt } from '../../../src/core/json/dotted-path.ts';
import type { ConnectorSpec } from '../../../src/core/spec/schema/spec-schema.ts';
import { type Lane, type LaneRun, openLane } from './lane.ts';
import { type Example, keyOf, type Row } from './made-records.ts';
import { familyApi, pageSize, type VendorList, vendorApi } from './vendor-list.ts';

/** What happens to a list, whose records change at `now`. */
export type Change = (rows: readonly Row[], now: number) => readonly Row[];

/** What a story is about. */
export interface Stage {
  /** The key of the connector. */
  readonly key: string;
  readonly spec: ConnectorSpec;
  readonly example: Example;
  /** The list whose records it is read for, one for each; absent: the list is its own. */
  readonly parent?: Example;
  readonly evaluator: Evaluator;
}

const hour = 3_600_000;

/** Two whole pages and a part of one, in the order of the list, a few hours apart. */
export function firstRows(example: Example): readonly Row[] {
  const count = 2 * pageSize(example) + 2;
  const now = Date.parse(example.test.now);
  const rows = Array.from({ length: count }, (_, no) => ({ no, at: now - (count - no) * 4 * hour, revision: 0 }));
  return isNewestFirst(example) ? rows.toReversed() : rows;
}

/** Whether a list begins with what has changed last. */
export const isNewestFirst = ({ resource: { incremental } }: Example): boolean =>
  incremental?.kind === 'cursor' && incremental.order === 'desc';

/**
 * A list that changes before a later page of a read. `isKnown`: another run has read it whole before. Returns what does
 * not hold.
 */
export async function tellOfMove(
  stage: Stage,
  { change, before, isKnown }: { readonly change: Change; readonly before: number; readonly isKnown: boolean },
): Promise<readonly string[]> {
  const { list, lane, run, wrong, expectWhole, end } = begin(stage, {
    rows: firstRows(stage.parent ?? stage.example),
  });
  if (isKnown) expectWhole(await run(), 'the run before');
  const rowsBefore = [...lane.rows.keys()];
  let isChanged = false;
  list.onLaterPage = (no, now) => {
    if (no !== before) return;
    isChanged = true;
    list.rows = change(list.rows, now);
  };
  const moved = await run();
  list.onLaterPage = null;
  if (!isChanged) wrong.push('the list was not changed');
  if (moved.status === 'failed') wrong.push(`the run over the moving list failed: ${moved.error}`);
  wrong.push(...deletedAlive(stage.example, { lane, list, rowsBefore }));
  for (const name of ['the first run at rest', 'the second run at rest']) expectWhole(await run(), name);
  return await end();
}

/** A list that changes between two runs. `isConditional`: the API knows the responses that it has sent. */
export async function tellOfChange(
  stage: Stage,
  { rows, change, isConditional = false }: { rows: readonly Row[]; change: Change; isConditional?: boolean },
): Promise<readonly string[]> {
  const { list, run, expectWhole, end } = begin(stage, { rows, isConditional });
  for (const name of ['the first run', 'the run without a change']) expectWhole(await run(), name);
  list.rows = change(list.rows, list.now);
  expectWhole(await run(), 'the run after the change');
  return await end();
}

function begin(
  { spec, key, example, parent, evaluator }: Stage,
  { rows, isConditional = false }: { readonly rows: readonly Row[]; readonly isConditional?: boolean },
) {
  const lane = openLane(spec, example, evaluator);
  const list: VendorList = { rows, now: Date.parse(example.test.now), onLaterPage: null, isConditional };
  const wrong: string[] = [];
  const run = async (): Promise<LaneRun> => {
    list.now += hour;
    const api = parent ? familyApi(key, parent, example, list) : vendorApi(key, example, list);
    return await lane.run(api, new Date(list.now));
  };
  const expectWhole = ({ status, error, notes }: LaneRun, name: string): void => {
    if (status !== 'succeeded') wrong.push(`${name} is ${status}: ${error ?? notes.join(', ')}`);
  };
  /** At rest: the rows are the list, and a further run delivers nothing. */
  const end = async (): Promise<readonly string[]> => {
    wrong.push(...differences(example, lane, list));
    const quiet = await run();
    expectWhole(quiet, 'the quiet run');
    if (quiet.delivered > 0) wrong.push(`the quiet run delivered ${quiet.delivered}`);
    return wrong;
  };
  return { list, lane, run, wrong, expectWhole, end };
}

interface Found {
  readonly lane: Lane;
  readonly list: VendorList;
  readonly rowsBefore: readonly string[];
}

function deletedAlive(example: Example, { lane, list, rowsBefore }: Found): readonly string[] {
  const live = list.rows.map((row) => keyOf(example, row));
  return rowsBefore
    .filter((id) => !lane.rows.has(id) && live.some((key) => id.includes(key)))
    .map((id) => `${id} lives, and was deleted`);
}

/** In what the rows at the destination are not the list. */
function differences(example: Example, lane: Lane, list: VendorList): readonly string[] {
  const { keyPath, resource } = example;
  const rows = new Map([...lane.rows.values()].map((row) => [String(valueAt(row, keyPath)), row] as const));
  const wrong = list.rows.flatMap((row) => {
    const key = keyOf(example, row);
    const found = rows.get(key);
    rows.delete(key);
    if (found === undefined) return [`${key} is missing`];
    return found['revision'] === row.revision ? [] : [`${key} is of an earlier version`];
  });
  const isSwept = resource.deletes.mode === 'full_scan';
  return [...wrong, ...(isSwept ? [...rows.keys()].map((key) => `${key} is there, although it was deleted`) : [])];
}
