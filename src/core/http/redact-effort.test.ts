import { describe, expect, it } from 'vitest';
import { slowTexts } from '../../../test/support/security/slow-texts.ts';
import { cpuMsOf, leastGrowth } from '../work/effort-fixture.ts';
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

/** Secrets that look alike, 65,000 characters in all. */
const alike: Readonly<Record<string, readonly string[]>> = {
  'thousands with one beginning': Array.from(
    { length: 6500 },
    (_, nth) => `abc${nth.toString(36).padStart(3, '0')}é/+`,
  ),
  'long ones that differ in their last characters': Array.from(
    { length: 4 },
    (_, nth) => `${'a'.repeat(16_000)}b${nth}`,
  ),
  'beginnings of each other': Array.from({ length: 350 }, (_, nth) => `${'a'.repeat(6 + nth)}b`),
};

describe('many secrets that look alike', () => {
  it.each(Object.entries(alike))('cost little to prepare and to mask: %s', (_what, given) => {
    const cpuMs = cpuMsOf(() => {
      const redactor = createRedactor(given);
      redactor.values('a'.repeat(100_000));
      redactor.values('abcabc'.repeat(17_000));
    });
    expect(cpuMs).toBeLessThan(2000);
  });
});
