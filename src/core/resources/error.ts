import * as v from 'valibot';
import { Issue } from './spec.ts';

/** Every error answer. Without `code`: invalid JSON, or a required query parameter is missing. */
export const ErrorBody = v.object({
  error: v.object({
    code: v.optional(
      v.picklist([
        'validation',
        'unauthorized',
        'plan_limit',
        'not_found',
        'conflict',
        'immutable',
        'rate_limited',
        'internal',
      ]),
    ),
    message: v.string(),
    issues: v.optional(v.array(Issue)),
  }),
});
export type ErrorBody = v.InferOutput<typeof ErrorBody>;
