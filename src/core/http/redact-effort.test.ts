import { describe, expect, it } from 'vitest';
import { slowTexts } from '../../../test/support/security/slow-texts.ts';
import { leastGrowth } from '../work/effort-fixture.ts';
import { createRedactor, type Redactor } from './redact.ts';

const long = 'k'.repeat(8000);
const periodic = 'ab'.repeat(4000);
const secrets = ['a-secret-of-the-connection', periodic, `${'x'.repeat(70)}y${'x'.repeat(7000)}`, `${long}"token"`];

/** What masks texts: each is given what it takes of a text before the time is taken. */
const maskers: Readonly<Record<string, (redactor: Redactor, text: string) => () => unknown>> = {
  text: (redactor, text) => () => redactor.text(text),
  values: (redactor, text) => () => redactor.values(text),
  url: (redactor, text) => {
    const url = new URL(`https://api.example/${text}`);
    return () => redactor.url(url);
  },
  'request headers': (redactor, text) => () => redactor.requestHeaders({ accept: text, [`x-${text}`]: text }),
  'response headers': (redactor, text) => () => redactor.responseHeaders({ 'x-note': text, [`x-${text}`]: text }),
};
const cases = Object.entries(maskers).flatMap(([masker, prepare]) =>
  Object.entries(slowTexts).map(([shape, make]) => ({ masker, shape, prepare, make })),
);

describe('the time of a redactor grows with its text alone', () => {
  const redactor = createRedactor(secrets);
  // Sixteen times the text takes 256 times as long where the time grows with the square.
  it.each(cases)('for $masker of $shape', ({ prepare, make }) => {
    const [small, large] = [prepare(redactor, make(15_000)), prepare(redactor, make(240_000))];
    expect(leastGrowth(small, large, 80)).toBeLessThan(80);
  });
});
