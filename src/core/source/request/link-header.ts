import LinkHeader from 'http-link-header';
import { AppError } from '../../errors.ts';

/** The address of a relation in a `Link` header (RFC 8288), as written; null when there is none. Throws `source_rejected`. */
export function linkOf(header: string | undefined, relation: string): string | null {
  if (header === undefined || header.trim() === '') return null;
  return parseLinks(header).rel(relation)[0]?.uri ?? null;
}

function parseLinks(header: string): LinkHeader {
  try {
    return LinkHeader.parse(header);
  } catch (cause) {
    const message =
      'The Link header of the answer is malformed, so the next page is unknown. Use another pagination kind.';
    throw new AppError('source_rejected', message, { cause });
  }
}
