import type { InputType, ZlibOptions } from 'node:zlib';
import { AppError } from '../../errors.ts';

/** The one-shot functions of zlib respect `maxOutputLength`, its streams do not. */
export type Inflate = (bytes: InputType, options: ZlibOptions) => Promise<Uint8Array>;

/** Throws `source_rejected`, naming the file as `form`. */
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
