export interface CollectedBytes {
  add(piece: Uint8Array): void;
  whole(): Buffer;
}

/** Pieces kept before they are merged into one. */
const piecesMax = 1000;

/**
 * Collects bytes and merges many small pieces as they arrive: single bytes would take more than a hundred times their
 * memory.
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
