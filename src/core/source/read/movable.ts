import type { Source } from '../source.ts';

/** Whether the pages of a source have numbers, and their list may move; a report that is ready does not. */
export const isMovable = ({ resource: { pagination, job } }: Pick<Source, 'resource'>): boolean =>
  (pagination.kind === 'page' || pagination.kind === 'offset') && !pagination.stable && job === undefined;
