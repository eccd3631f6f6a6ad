import { HttpRejection } from '../errors.ts';
import { createInProgress, type InProgress } from './in-progress.ts';

/** Long lists in progress per org. Each holds a database connection until the client has read it, and there are 10. */
const listsMax = 4;

export const createListsAtOnce = (): InProgress => createInProgress(listsMax, tooManyAtOnce);

const tooManyAtOnce = (): HttpRejection =>
  new HttpRejection(
    'rate_limited',
    `Your org is reading ${listsMax} long lists: read one to its end, then repeat the request.`,
    { headers: { 'retry-after': '1' } },
  );
