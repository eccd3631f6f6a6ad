/** Concurrent requests of one worker to endpoints, and the number of endpoints it serves at once. */
export const postsMax = 256;
