import { createRedactor, type Redactor } from '../http/redact.ts';
import type { PostOutcome } from '../http/webhook-post.ts';
import { shownBodyCharsMax } from '../resources/webhook-delivery.ts';

/** Masks the signing secrets of an endpoint, with and without their prefix (`whsec_…`, `whsk_…`). */
export const signingRedactor = (secrets: readonly string[]): Redactor =>
  createRedactor(secrets.flatMap((secret) => [secret, secret.slice(secret.indexOf('_') + 1)]));

/** Masked: a receiver that responds with its secret would reveal it to every reader of the log. */
export const shownOutcome = (outcome: PostOutcome, redactor: Redactor): PostOutcome => ({
  ...outcome,
  headers: redactor.responseHeaders(outcome.headers),
  body: redactor.text(outcome.body, shownBodyCharsMax),
});
