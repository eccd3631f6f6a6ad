/** A response with more is refused. */
export const headerBytesMax = 16_384;
