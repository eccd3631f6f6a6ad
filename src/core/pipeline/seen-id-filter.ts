/** External ids that were requested, in 2 MB however many they are. */
export interface SeenIdFilter {
  /** Adds an id. False: it was not requested before. True: it may have been. */
  note(externalId: string): boolean;
}

/**
 * A Bloom filter. After a million ids, one in 230 new ids is classified as possibly requested; after half of them, one
 * in 1,600.
 */
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

/** Lets each bit depend on all others: ids in a row differ in their last characters only. */
function spread(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x7f_eb_35_2d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x84_6c_a6_8b);
  return mixed ^ (mixed >>> 16);
}
