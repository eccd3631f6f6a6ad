import { createHash } from 'node:crypto';

/** The time for a response in milliseconds; a host that does not respond by then is taken for unreachable. */
const responseMs = 5000;
/** The time for a body in milliseconds: 45 MB at 1 Mbit/s. */
const bodyMs = 360_000;

/**
 * The bytes, if they are the ones that are meant: nothing that was downloaded is unpacked, built or run before.
 * @throws Error naming both digests (SHA-256, hexadecimal).
 */
export function pinned(bytes: Uint8Array, sha256: string, what: string): Uint8Array {
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== sha256) throw new Error(`${what} has SHA-256 ${digest}, expected ${sha256}: it was not opened`);
  return bytes;
}

/**
 * The bytes behind an https URL. For programs whose digest is checked afterwards, never for what an org names.
 * @throws Error saying what the host responded, or why it was not reached.
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
