import { AppError } from '../../errors.ts';

/** A request got no response, and a rule of the spec says what that means for the page. */
export class NoResponseError extends AppError {
  readonly action: 'empty' | 'skip_partition';
  /** Safe to show. */
  readonly reason: string;

  constructor(action: NoResponseError['action'], reason: string) {
    super('source_unavailable', `The API sent no response (${reason}). Start the run again later, or check its calls.`);
    this.action = action;
    this.reason = reason;
  }
}
