import * as v from 'valibot';
import { checkpointChanged } from '../errors.ts';
import { cutText } from '../json/cut-text.ts';
import { decodeReceipt, type Receipt, receiptVersion } from '../model/receipt.ts';
import { type HeldMemory, lightBytes } from '../model/response-memory.ts';
import { jsonMemory } from '../source/decode/decode-body.ts';
import { measureJson } from '../source/decode/decode-json.ts';
import type { DecodeTurns } from '../source/decode/decode-turns.ts';

/** Maximum JSON values in a receipt: that of the largest possible page of records. */
const valuesMax = 8_000_000;
/** Maximum characters of a failure taken from a receipt. */
const failureMax = 1000;

const Ids = v.array(v.string());
/** No page, run or batch number comes near it, and sums of counts stay exact. */
const countMax = 1_000_000_000;
const Count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(countMax));
const MaybeText = v.nullable(v.string());
/** Earlier versions of the service stored only whether there was one. */
const Gaps = v.optional(v.union([v.boolean(), Ids]));
const Totals = v.looseObject({ count: Count, skipped: Count, again: v.optional(Count), gaps: Gaps, listGaps: Gaps });
const Read = v.nullish(v.looseObject({}));
const PageCounts = v.looseObject({
  pageNo: Count,
  requestKey: v.string(),
  recordsIn: Count,
  recordsOut: Count,
  skipped: Count,
  quarantined: Count,
  invalid: Count,
  deleted: Count,
});
const QuarantineEntries = v.array(
  v.looseObject({
    id: v.string(),
    externalId: v.string(),
    rawJson: v.string(),
    each: v.optional(v.looseObject({})),
    sealed: v.optional(v.string()),
    errors: v.array(v.looseObject({})),
    version: v.optional(v.string()),
    isAgain: v.optional(v.boolean()),
  }),
);
const Placed = v.array(v.looseObject({ partition: v.string(), externalIds: Ids }));
const Completed = v.nullable(v.looseObject({}));
/** A position that repeats a secret; only the service's key opens it. */
const SealedPosition = v.looseObject({ sealed: v.string() });
const PlainPosition = v.variant('stage', [
  v.looseObject({ stage: v.picklist(['bury', 'retry']), after: MaybeText }),
  v.looseObject({
    stage: v.literal('list'),
    dimension: v.optional(Count),
    after: v.optional(MaybeText),
    read: Read,
    gaps: Gaps,
  }),
  v.looseObject({ stage: v.literal('partition'), no: Count, read: Read, gaps: Gaps, totals: Totals }),
  v.looseObject({ stage: v.literal('sweep'), totals: Totals }),
  v.looseObject({ stage: v.literal('switch'), gaps: Gaps }),
]);

/** The parts that the engine and the ledger interpret; the rest is stored for this lane alone. */
const CheckedReceipt = v.looseObject({
  runId: v.string(),
  batchNo: Count,
  pages: v.array(PageCounts),
  externalIds: Ids,
  hashes: Ids,
  cursors: v.nullable(v.array(MaybeText)),
  quarantined: v.array(Count),
  fields: v.nullable(v.array(v.nullable(v.record(v.string(), v.unknown())))),
  allNew: v.boolean(),
  deleted: Ids,
  flagged: v.optional(v.array(v.looseObject({ externalId: v.string(), cursor: MaybeText }))),
  deliveredBefore: v.optional(Ids),
  closes: v.optional(v.nullable(Ids)),
  closesVersions: v.optional(v.array(v.looseObject({ externalId: v.string(), version: v.string() }))),
  seen: Placed,
  left: v.optional(Placed),
  quarantine: QuarantineEntries,
  again: v.optional(QuarantineEntries),
  retried: Ids,
  notFetched: v.optional(Ids),
  partitions: v.array(
    v.looseObject({ partition: v.string(), watermark: v.optional(MaybeText), completed: v.optional(Completed) }),
  ),
  proofs: v.optional(
    v.array(v.looseObject({ partition: v.string(), proof: v.string(), completed: v.optional(Completed) })),
  ),
  scan: v.optional(v.nullable(v.looseObject({ confirm: v.optional(Count) }))),
  listed: v.optional(
    v.array(
      v.looseObject({
        partition: v.string(),
        named: v.array(v.looseObject({ externalId: v.string(), state: v.string(), deletedAt: v.optional(MaybeText) })),
        end: MaybeText,
      }),
    ),
  ),
  listedEnd: v.optional(v.looseObject({})),
  incomplete: v.boolean(),
  notes: v.optional(v.record(v.string(), Count)),
  position: v.nullable(v.union([SealedPosition, PlainPosition])),
  failure: MaybeText,
});

const OtherVersion = v.looseObject({ v: v.pipe(v.number(), v.notValue(receiptVersion)) });

export interface ReceiptMemory {
  readonly turns: DecodeTurns;
  /** Of the text; the caller releases it. */
  readonly held: HeldMemory;
}

/**
 * Reads the receipt in a checkpoint. The customer may have changed it, so it is decoded like an API response, in the
 * turn of the org. Throws `destination_rejected`, and `ThrottledError` while others hold the memory.
 */
export async function readReceipt(text: string, { turns, held }: ReceiptMemory): Promise<Receipt> {
  if (text.length <= lightBytes) return checkedReceipt(text);
  await turns.takeMemory(await turns.inTurn(() => memoryOf(text)), held);
  return await turns.inTurn(() => checkedReceipt(text));
}

function memoryOf(text: string): number {
  const bytes = Buffer.from(text);
  try {
    return jsonMemory(bytes, measureJson(bytes, valuesMax));
  } catch (error) {
    throw checkpointChanged(error);
  }
}

function checkedReceipt(text: string): Receipt {
  const value = parsed(text);
  // A receipt of another version is left to a worker of that version.
  if (!v.is(OtherVersion, value) && !v.is(CheckedReceipt, value)) throw checkpointChanged(null);
  const receipt = decodeReceipt(text);
  return { ...receipt, failure: receipt.failure === null ? null : cutText(receipt.failure, failureMax) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw checkpointChanged(error);
  }
}
