import type { Source } from '../source.ts';

/** A finished report does not move. */
export const isMovable = ({ resource: { pagination, job } }: Pick<Source, 'resource'>): boolean =>
  (pagination.kind === 'page' || pagination.kind === 'offset') && !pagination.stable && job === undefined;
