/** Limits what the tables of one run take from a process that serves many orgs. */
import { hash } from 'node:crypto';
import pLimit from 'p-limit';
import { AppError } from '../../errors.ts';
import { bindingsLengthMax } from '../../expressions/bindings-text.ts';
import { canonicalJson } from '../../json/canonical-json.ts';
import { lightBytes } from '../../model/response-memory.ts';
import { jsonMemory } from '../decode/decode-body.ts';
import { measureJson } from '../decode/decode-json.ts';
import type { DecodeTurns } from '../decode/decode-turns.ts';

export interface TableRoom {
  /** Negative if a shorter text replaces another. */
  add(chars: number): void;
  /** Throws `source_rejected`, naming this lookup, if the tables are too large together. */
  check(lookup: { readonly assignTo: string }): void;
  /** Runs one `read` at a time, so that its text is counted before the next one is in memory. */
  alone<Result>(read: () => Promise<Result>): Promise<Result>;
  /** A large text, whose characters are already counted, waits for the turn of its org and takes memory. */
  parse(text: string): Promise<unknown>;
}

/** Texts up to this length are parsed in a millisecond or two. */
const shortLength = 65_536;
/** Memory for each byte of a text of many short names (measured: 14 to 20). */
const densestBytes = 20;

export function createTableRoom(turns: DecodeTurns): TableRoom {
  const limit = pLimit(1);
  let chars = 0;
  let memory = 0;
  return {
    add(more) {
      chars += more;
    },
    check({ assignTo }) {
      if (chars <= bindingsLengthMax) return;
      throw new AppError(
        'source_rejected',
        `The lookup "${assignTo}" makes the tables of the run larger than ${bindingsLengthMax / 1_000_000} MB together. Narrow its request, or keep fewer fields of each item with value.`,
      );
    },
    alone: (read) => limit(read),
    async parse(text) {
      if (text.length <= shortLength) return JSON.parse(text);
      memory += await turns.inTurn(() => memoryOf(text));
      if (chars > lightBytes) await turns.takeMemory(memory, undefined);
      return await turns.inTurn(() => JSON.parse(text));
    },
  };
}

function memoryOf(text: string): number {
  const bytes = Buffer.from(text);
  try {
    return jsonMemory(bytes, measureJson(bytes));
  } catch {
    // A table may have more names than a page, because its entries are limited.
    return bytes.length * densestBytes;
  }
}

const digests = new WeakMap<object, string>();

export function noteText(table: unknown, text: string): void {
  if (typeof table === 'object' && table !== null) digests.set(table, hash('sha256', text, 'base64url'));
}

/** Uses the text of the table if it is known, as writing a large one takes a second. */
export const tableDigest = (table: unknown): string =>
  (typeof table === 'object' && table !== null ? digests.get(table) : undefined) ??
  hash('sha256', canonicalJson(table), 'base64url');
