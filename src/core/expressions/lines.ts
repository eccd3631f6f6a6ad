import type { Readable } from 'node:stream';

const newline = 0x0a;

/**
 * Jobs and responses travel as newline-terminated UTF-8 lines between the pool and its children, as JSON text never
 * holds a raw newline. A line longer than `bytesMax` calls `onTooLong` once and ends the reading.
 */
export function readLines(
  stream: Readable,
  options: { readonly bytesMax: number; readonly onLine: (line: string) => void; readonly onTooLong: () => void },
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      bytes = 0;
      start = end + 1;
      options.onLine(line);
    }
    parts.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes <= options.bytesMax) return;
    stream.off('data', onData);
    parts = [];
    options.onTooLong();
  };
  stream.on('data', onData);
}
