import { createHash } from 'node:crypto';

/** Milliseconds until a host counts as unreachable. */
const responseMs = 5000;
/** In milliseconds: 45 MB at 1 Mbit/s. */
const bodyMs = 360_000;

/**
 * Nothing downloaded is unpacked, built or run before this check.
 * @throws Error naming both digests (SHA-256, hexadecimal).
 */
export function pinned(bytes: Uint8Array, sha256: string, what: string): Uint8Array {
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== sha256) throw new Error(`${what} has SHA-256 ${digest}, expected ${sha256}: it was not opened`);
  return bytes;
}

/**
 * Only for programs whose digest is checked afterwards, never for a URL of an org.
 * @throws Error with the host's response, or why it was not reached.
 */
export async function download(url: string): Promise<Uint8Array> {
  const overall = AbortSignal.timeout(bodyMs);
  const noResponse = new AbortController();
  const timer = setTimeout(() => noResponse.abort(new Error(`no response within ${responseMs} ms`)), responseMs);
  try {
    // oxlint-disable-next-line no-restricted-globals -- a pinned program, checked by digest; no org chooses the URL.
    const response = await fetch(url, { signal: AbortSignal.any([overall, noResponse.signal]) });
    clearTimeout(timer);
    if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${new URL(url).host}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
