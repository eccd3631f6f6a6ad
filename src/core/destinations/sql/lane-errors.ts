import { AppError } from '../../errors.ts';

/** The failure of an attempt that lost its lane. */
export const fenced = (): AppError =>
  new AppError('fenced', 'A later attempt has taken over this resource; this one ends without writing.');

/**
 * Why a batch of a lane that is still held was not applied: it is applied already, or the rows it adds to no longer
 * exist.
 */
export const notTaken = (batchNo: number, isApplied: boolean): AppError =>
  isApplied
    ? new AppError('fenced', `Batch ${batchNo} of this run was applied already; read the checkpoint again.`)
    : new AppError('destination_rejected', 'The rows gathered so far were removed during the run; start it again.');
