import { AppError } from '../../errors.ts';

export const notTaken = (batchNo: number, isApplied: boolean): AppError =>
  isApplied
    ? new AppError('fenced', `Batch ${batchNo} of this run was applied already; read the checkpoint again.`)
    : new AppError('destination_rejected', 'The rows gathered so far were removed during the run; start it again.');
