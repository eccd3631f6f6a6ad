/**
 * Characters of a secret or a token: no HTTP header carries a longer one, and certificates with their keys, service accounts
 * and signed tokens have a few thousand. Every text that is shown is searched for all spellings of each.
 */
export const secretCharsMax = 16_384;

/** Characters of all secrets of a connection together. */
export const secretsCharsMax = 65_536;
