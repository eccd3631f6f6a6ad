/**
 * Characters of a secret or token. No HTTP header carries a longer one; certificates with keys, service accounts and
 * signed tokens have a few thousand. Every shown text is searched for all spellings of each secret.
 */
export const secretCharsMax = 16_384;

/** Characters of all secrets of a connection together. */
export const secretsCharsMax = 65_536;
