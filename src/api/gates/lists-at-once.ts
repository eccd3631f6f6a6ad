import { HttpRejection } from '../errors.ts';
import { createInProgress, type InProgress } from './in-progress.ts';

/**
 * The lists of one org at once: each reads from the database for as long as it is taken, and there are 10 connections
 * to it.
 */
const listsMax = 4;

/** Counts the lists that are sent to each org; no list is sent yet. The rejection is 429 with `Retry-After`. */
export const createListsAtOnce = (): InProgress => createInProgress(listsMax, tooManyAtOnce);

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `Your org is reading ${listsMax} long lists: read one to its end, then repeat the request.`,
    { headers: { 'retry-after': '1' } },
  );
