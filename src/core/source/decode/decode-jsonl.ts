import { AppError } from '../../errors.ts';
import { type BigNumbers, decodeJson } from './decode-json.ts';

/** The JSON values of a body with one per line; empty lines are skipped. Throws `source_rejected` with the line. */
export function decodeJsonLines(bytes: Uint8Array, options: { readonly bigNumbers: BigNumbers }): readonly unknown[] {
  return lines(bytes).flatMap((line, index) => (line.length === 0 ? [] : [decodeLine(line, index + 1, options)]));
}

function decodeLine(line: Uint8Array, lineNumber: number, options: { readonly bigNumbers: BigNumbers }): unknown {
  try {
    return decodeJson(line, options);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `Line ${lineNumber} does not decode: ${error.message}`, { cause: error });
  }
}

function lines(bytes: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    found.push(bytes.subarray(start, bytes[end - 1] === 0x0d ? end - 1 : end));
    start = end + 1;
  }
  return found;
}
