/** Requested external ids, in 2 MB regardless of their number. */
export interface SeenIdFilter {
  /** Adds an id; true if it may have been requested before, false if it was not. */
  note(externalId: string): boolean;
}

/** A Bloom filter: after a million ids, one in 230 new ids counts as requested, after half of them one in 1,600. */
export function createSeenIdFilter(): SeenIdFilter {
  const words = new Uint32Array(bitsMax / 32);
  return {
    note(externalId) {
      let first = 0x81_1c_9d_c5;
      let step = 0x9e_37_79_b9;
      for (let index = 0; index < externalId.length; index += 1) {
        const unit = externalId.charCodeAt(index);
        first = Math.imul(first ^ unit, 0x01_00_01_93);
        step = Math.imul(step ^ unit, 0x85_eb_ca_6b);
      }
      first = spread(first);
      step = spread(step) | 1;
      let isKnown = true;
      for (let turn = 0; turn < bitsPerId; turn += 1) {
        const bit = (first + Math.imul(turn, step)) & (bitsMax - 1);
        const word = bit >>> 5;
        const mask = 1 << (bit & 31);
        const found = words[word] ?? 0;
        if ((found & mask) !== 0) continue;
        isKnown = false;
        words[word] = found | mask;
      }
      return isKnown;
    },
  };
}

const bitsMax = 2 ** 24;
const bitsPerId = 3;

/** Makes each bit depend on all others: consecutive ids differ only in their last characters. */
function spread(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x7f_eb_35_2d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x84_6c_a6_8b);
  return mixed ^ (mixed >>> 16);
}
