import { BlockedUrlError } from '../../http/egress-blocked.ts';
import type { HttpClient } from '../../model/http.ts';

/** What `addressOf` gives. An address that it refuses is in the call log before the error goes on to the caller. */
export async function loggingBlocked<Address>(
  client: Pick<HttpClient, 'logBlocked'>,
  method: 'GET' | 'POST',
  addressOf: () => Promise<Address>,
): Promise<Address> {
  try {
    return await addressOf();
  } catch (error) {
    if (error instanceof BlockedUrlError) await client.logBlocked(method, error.url);
    throw error;
  }
}
