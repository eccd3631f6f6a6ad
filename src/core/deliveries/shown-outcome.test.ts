import { expect, it } from 'vitest';
import type { PostOutcome } from '../http/webhook-post.ts';
import { shownOutcome, signingRedactor } from './shown-outcome.ts';

const secret = `whsec_${Buffer.from('a signing secret of 24 bytes').toString('base64')}`;
const redactor = signingRedactor([secret]);
const outcome = (changes: Partial<PostOutcome>): PostOutcome => ({
  statusCode: 500,
  errorCode: 'http_status',
  headers: {},
  body: '',
  durationMs: 1,
  ...changes,
});

it('shows no signing secret, with or without its prefix, encoded or not', () => {
  const bare = secret.slice('whsec_'.length);
  const body = [secret, bare, encodeURIComponent(secret), Buffer.from(bare).toString('hex')].join(' ');
  const shown = JSON.stringify(shownOutcome(outcome({ body, headers: { 'x-echo': secret } }), redactor));
  for (const spelling of body.split(' ')) expect(shown).not.toContain(spelling);
});

it('masks a secret on the edge of what is kept before it cuts', () => {
  const { body } = shownOutcome(outcome({ body: `${'x'.repeat(16_380)}${secret}` }), redactor);
  expect(body).not.toContain('whse');
  expect(body.length).toBeLessThanOrEqual(16_384 + '[redacted]'.length);
});

it('leaves an ordinary response as it is, but for cookies', () => {
  const headers = { 'content-type': 'text/plain', 'set-cookie': 'a=b' };
  const shown = shownOutcome(outcome({ body: 'come again', headers }), redactor);
  expect(shown).toEqual(outcome({ body: 'come again', headers: { 'content-type': 'text/plain' } }));
});
