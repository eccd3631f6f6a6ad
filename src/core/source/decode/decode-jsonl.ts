import { AppError } from '../../errors.ts';
import { pageRecordsMax, tooManyRecords } from '../read/page-size.ts';
import { type BigNumbers, decodeJson } from './decode-json.ts';

/** Throws `source_rejected` with the line, and for more values than a page may have. */
export function decodeJsonLines(bytes: Uint8Array, options: { readonly bigNumbers: BigNumbers }): readonly unknown[] {
  const values: unknown[] = [];
  for (let start = 0, lineNumber = 1; start < bytes.length; lineNumber += 1) {
    // A search would cost more, and there may be millions of empty lines.
    const emptyBytes = bytes[start] === 0x0a ? 1 : bytes[start] === 0x0d && bytes[start + 1] === 0x0a ? 2 : 0;
    if (emptyBytes > 0) {
      start += emptyBytes;
      continue;
    }
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    const lineEnd = bytes[end - 1] === 0x0d ? end - 1 : end;
    if (lineEnd > start) {
      if (values.length === pageRecordsMax) throw tooManyRecords();
      values.push(decodeLine(bytes.subarray(start, lineEnd), lineNumber, options));
    }
    start = end + 1;
  }
  return values;
}

function decodeLine(line: Uint8Array, lineNumber: number, options: { readonly bigNumbers: BigNumbers }): unknown {
  try {
    return decodeJson(line, options);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `Line ${lineNumber} does not decode: ${error.message}`, { cause: error });
  }
}
