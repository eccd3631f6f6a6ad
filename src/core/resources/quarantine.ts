import * as v from 'valibot';
import { Timestamp } from './values.ts';

/** A record stored with its errors instead of being delivered. */
export const QuarantineRow = v.object({
  id: v.string(),
  connectionId: v.string(),
  resourceKey: v.string(),
  externalId: v.string(),
  rawJson: v.pipe(v.unknown(), v.description('The record as fetched.')),
  validationErrors: v.pipe(v.unknown(), v.description('What is wrong with it, as a list of path and message.')),
  resolvedAt: v.pipe(v.nullable(Timestamp), v.description('Null while unresolved.')),
});
export type QuarantineRow = v.InferOutput<typeof QuarantineRow>;
