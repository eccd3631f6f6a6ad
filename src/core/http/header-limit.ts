/** Bytes of the headers of a response; one with more is refused. */
export const headerBytesMax = 16_384;
