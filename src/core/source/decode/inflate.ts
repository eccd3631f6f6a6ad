import type { InputType, ZlibOptions } from 'node:zlib';
import { AppError } from '../../errors.ts';

/** A one-shot function of zlib: unlike its streams, these hold `maxOutputLength`. */
export type Inflate = (bytes: InputType, options: ZlibOptions) => Promise<Uint8Array>;

/** The inflated bytes, at most `bytesMax`. Throws `source_rejected`; `form` names the file in the message. */
export async function inflateBounded(
  inflate: Inflate,
  bytes: Uint8Array,
  options: { readonly bytesMax: number; readonly form: string },
): Promise<Uint8Array> {
  const { bytesMax, form } = options;
  try {
    return await inflate(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    const tooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE';
    const message = tooLarge
      ? `The response is a ${form} of more than ${bytesMax} bytes: ask for smaller pages or raise http.maxResponseBytes.`
      : `The response is a ${form} that is damaged or cut off. Check that the API sends the whole file.`;
    throw new AppError('source_rejected', message, { cause });
  }
}
