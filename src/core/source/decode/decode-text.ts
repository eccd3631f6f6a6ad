import { TextDecoder } from 'node:util';
import { AppError } from '../../errors.ts';

/**
 * The byte order mark, which is removed, decides the charset, else `charset` (a label as in `content-type`), else it is
 * UTF-8. Throws `source_rejected` for an unknown charset or invalid bytes.
 */
export function decodeText(bytes: Uint8Array, charset: string | null): string {
  const label = charsetOfMark(bytes) ?? charset ?? 'utf-8';
  const decoder = decoderOf(label);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    const advice = 'Check that the charset the API declares in content-type is the one it sends.';
    throw new AppError('source_rejected', `The response body is not valid ${label}. ${advice}`, { cause });
  }
}

export function charsetOf(contentType: string | undefined): string | null {
  return /;\s*charset\s*=\s*"?([\w.:+-]{1,40})/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? null;
}

function charsetOfMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null;
}

/** WHATWG labels: `iso-8859-1` is read as its superset `windows-1252`. */
function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch (cause) {
    const message = `The API declares the unknown charset ${label}. Supported are UTF-8, UTF-16 and the charsets of browsers.`;
    throw new AppError('source_rejected', message, { cause });
  }
}
