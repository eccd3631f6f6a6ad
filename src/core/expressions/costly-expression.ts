import { AppError } from '../errors.ts';

/**
 * The failure of an expression that ended its child, or whose input is too large. Others over the same input would cost
 * as much.
 */
export class CostlyExpressionError extends AppError {}
