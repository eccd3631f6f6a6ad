import * as v from 'valibot';
import { requestErrorCodes } from '../errors.ts';
import { Issue } from './spec.ts';

/** Every error response. Without `code`: invalid JSON, or a required query parameter is missing. */
export const ErrorBody = v.object({
  error: v.object({
    code: v.optional(v.picklist(requestErrorCodes)),
    message: v.string(),
    issues: v.optional(v.array(Issue)),
  }),
});
export type ErrorBody = v.InferOutput<typeof ErrorBody>;
