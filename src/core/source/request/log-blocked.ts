import { BlockedUrlError } from '../../http/egress-blocked.ts';
import type { HttpClient } from '../../model/http.ts';

/** Logs an address that `addressOf` refuses before the caller gets the error. */
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
