import { AppError } from '../../errors.ts';
import type { Meaning } from '../../model/http.ts';

/** A request got no response, and a rule of the spec says what that means for the page. */
export class NoResponseError extends AppError {
  readonly meaning: Meaning;

  /** @param reason safe to show. */
  constructor(meaning: Meaning, reason: string) {
    super('source_unavailable', `The API sent no response (${reason}). Start the run again later, or check its calls.`);
    this.meaning = meaning;
  }
}
