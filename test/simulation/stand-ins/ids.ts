/** Stands in for `src/core/ids.ts`: new ids are counted, so that the same seed makes the same ones. */
import type * as real from '../../../src/core/ids.ts';
import { currentIds } from '../current.ts';

export { firstIdAt, hashId, idPattern, isId, timeOfId } from '../../../src/core/ids.ts';

export const newId: typeof real.newId = (prefix) => `${prefix}_${String(currentIds().next()).padStart(26, '0')}`;
