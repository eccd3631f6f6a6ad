/** Concurrent requests to endpoints of one worker. It is also the number of endpoints that it serves at once. */
export const postsMax = 256;
