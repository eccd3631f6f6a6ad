import { expect, test } from 'vitest';
import { failure } from './failure.ts';

test('a page that cannot be shown now speaks to a person, not to a program', () => {
  const message = 'The database does not respond: send the request again after the time in Retry-After.';
  const shown = String(failure({ error: { code: 'unavailable', message } }, { status: 503, back: '/console' }));
  expect(shown).toContain('load the page again');
  expect(shown).not.toMatch(/Retry-After|Idempotency-Key|header/);
});
