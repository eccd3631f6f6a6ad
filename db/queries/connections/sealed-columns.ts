import type { SealedSecret } from '../../../src/core/crypto/secret-box.ts';

type Columns = { readonly [Name in keyof SealedSecret]: SealedSecret[Name] | null };

export const sealedColumns = ({ kekId, wrappedKey, nonce, ciphertext }: SealedSecret) => ({
  kekId,
  wrappedKey: Buffer.from(wrappedKey),
  nonce: Buffer.from(nonce),
  ciphertext: Buffer.from(ciphertext),
});

/** `null` if the row holds none. */
export function sealedOf({ kekId, wrappedKey, nonce, ciphertext }: Columns): SealedSecret | null {
  if (kekId === null || wrappedKey === null || nonce === null || ciphertext === null) return null;
  return { kekId, wrappedKey, nonce, ciphertext };
}
