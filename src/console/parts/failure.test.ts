import { expect, test } from 'vitest';
import { failure } from './failure.ts';
import { html } from './html.ts';

test('a page that cannot be shown now speaks to a person, not to a program', async () => {
  const message = 'The database does not respond: send the request again after the time in Retry-After.';
  const page = failure({ error: { code: 'unavailable', message } }, { status: 503, back: '/console' });
  const shown = String(await html`${page}`);
  expect(shown).toContain('load the page again');
  expect(shown).not.toMatch(/Retry-After|Idempotency-Key|header/);
});
