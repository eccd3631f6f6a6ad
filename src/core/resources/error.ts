import * as v from 'valibot';
import { requestErrorCodes } from '../errors.ts';
import { Issue } from './spec.ts';

/** `code` is absent for invalid JSON or a missing required query parameter. */
export const ErrorBody = v.object({
  error: v.object({
    code: v.optional(v.picklist(requestErrorCodes)),
    message: v.string(),
    issues: v.optional(v.array(Issue)),
  }),
});
export type ErrorBody = v.InferOutput<typeof ErrorBody>;
