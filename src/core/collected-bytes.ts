/** Bytes that arrive in pieces. */
export interface CollectedBytes {
  add(piece: Uint8Array): void;
  /** All bytes so far in one piece. */
  whole(): Buffer;
}

/** Pieces that are kept as they are, before they become one. */
const piecesMax = 1000;

/**
 * Collects bytes. Many small pieces are merged as they come: whoever sends single bytes would otherwise take more than a
 * hundred times their memory.
 */
export function collectBytes(): CollectedBytes {
  const merged: Uint8Array[] = [];
  let pieces: Uint8Array[] = [];
  return {
    add(piece) {
      pieces.push(piece);
      if (pieces.length < piecesMax) return;
      merged.push(Buffer.concat(pieces));
      pieces = [];
    },
    whole() {
      const all = [...merged, ...pieces];
      const [only] = all;
      if (only === undefined || all.length > 1) return Buffer.concat(all);
      return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
    },
  };
}
