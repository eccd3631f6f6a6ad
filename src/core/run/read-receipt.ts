import * as v from 'valibot';
import { checkpointChanged } from '../errors.ts';
import { cutText } from '../json/cut-text.ts';
import { decodeReceipt, type Receipt, receiptVersion } from '../model/receipt.ts';
import { lightBytes } from '../model/response-memory.ts';
import { jsonMemory } from '../source/decode/decode-body.ts';
import { measureJson } from '../source/decode/decode-json.ts';
import type { DecodeTurns } from '../source/decode/decode-turns.ts';

/** Maximum JSON values in a receipt: that of the largest possible page of records. */
const valuesMax = 8_000_000;
/** Maximum characters of a failure taken from a receipt. */
const failureMax = 1000;

const Ids = v.array(v.string());
const Counts = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const QuarantineEntries = v.array(
  v.looseObject({
    id: v.string(),
    externalId: v.string(),
    rawJson: v.string(),
    sealed: v.optional(v.string()),
    errors: v.array(v.looseObject({})),
  }),
);

/** The parts that the ledger interprets; the rest is stored for this lane alone. */
const CheckedReceipt = v.looseObject({
  runId: v.string(),
  batchNo: Counts,
  pages: v.array(v.looseObject({ pageNo: Counts, recordsIn: Counts, invalid: Counts })),
  externalIds: Ids,
  hashes: Ids,
  cursors: v.nullable(v.array(v.nullable(v.string()))),
  quarantined: v.array(Counts),
  fields: v.nullable(v.array(v.nullable(v.record(v.string(), v.unknown())))),
  deleted: Ids,
  seen: v.array(v.looseObject({ partition: v.string(), externalIds: Ids })),
  quarantine: QuarantineEntries,
  again: v.optional(QuarantineEntries),
  retried: Ids,
  partitions: v.array(v.looseObject({ partition: v.string() })),
  failure: v.nullable(v.string()),
});

const OtherVersion = v.looseObject({ v: v.pipe(v.number(), v.notValue(receiptVersion)) });

/**
 * Reads the receipt in a checkpoint. The customer may have changed it, so it is decoded like an API response, in the
 * turn of the org. Throws `destination_rejected`, and `ThrottledError` while others hold the memory.
 */
export async function readReceipt(text: string, turns: DecodeTurns): Promise<Receipt> {
  const isLong = text.length > lightBytes;
  const held = turns.open();
  try {
    if (isLong) await turns.takeMemory(await turns.inTurn(() => memoryOf(text)), held);
    return isLong ? await turns.inTurn(() => checkedReceipt(text)) : checkedReceipt(text);
  } finally {
    held.release();
  }
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
