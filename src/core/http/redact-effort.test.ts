import { describe, expect, it } from 'vitest';
import { createRedactor } from './redact.ts';

const long = 'k'.repeat(8000);
const periodic = 'ab'.repeat(4000);
const secrets = ['a-secret-of-the-connection', periodic, `${'x'.repeat(70)}y${'x'.repeat(7000)}`, `${long}"token"`];

/** What makes a text take long, of about `size` characters. */
const shapes: Readonly<Record<string, (size: number) => string>> = {
  'parameters without an end': (size) => `/x${'?key='.repeat(size / 5)}`,
  'parameters of a query': (size) => `/x?${'key=1&'.repeat(size / 6)}`,
  'nested properties': (size) => '{"key":'.repeat(size / 7),
  'nested lists': (size) => `{"key":${'['.repeat(size)}`,
  'properties in a list': (size) => `[${'{"token":1},'.repeat(size / 12)}`,
  'properties without an end': (size) => '"key":"'.repeat(size / 7),
  'properties of escapes': (size) => `"key":"${'\\"key\\":\\"'.repeat(size / 10)}`,
  backslashes: (size) => `"key":"${'\\'.repeat(size)}`,
  quotes: (size) => `key${'"'.repeat(size)}`,
  'quotes with names between': (size) => '"token'.repeat(size / 6),
  'spaces behind a name': (size) => `"token"${' '.repeat(size)}`,
  'names with spaces behind': (size) => `"token"${' '.repeat(100)}`.repeat(size / 107),
  'spaces behind a colon': (size) => `"token":${' '.repeat(size)}`,
  'a long telling name': (size) => `?${'secret'.repeat(size / 6)}`,
  'telling names': (size) => '?secret'.repeat(size / 7),
  'a secret that repeats itself': (size) => 'ab'.repeat(size / 2),
  'what is nearly a secret': (size) => 'x'.repeat(size),
  'beginnings of secrets': (size) => 'a-secret-of-the-connectio'.repeat(size / 25),
  'secrets beside each other': (size) => 'a-secret-of-the-connection'.repeat(size / 26),
};

describe('the time of a redactor grows with its text alone', () => {
  const redactor = createRedactor(secrets);
  const took = (text: string): number => {
    const runs = Array.from({ length: 3 }, () => {
      const startedAt = performance.now();
      redactor.text(text);
      redactor.values(text);
      return performance.now() - startedAt;
    });
    return Math.min(...runs);
  };

  // Sixteen times the text takes 256 times as long where the time grows with the square, on every try; a busy machine
  // delays some tries only.
  it.each(Object.entries(shapes))('for %s', (_, shape) => {
    const [small, large] = [shape(30_000), shape(480_000)];
    const growth = () => took(large) / Math.max(took(small), 0.5);
    let least = growth();
    for (let tries = 1; tries < 5 && least >= 80; tries += 1) least = Math.min(least, growth());
    expect(least).toBeLessThan(80);
  });
});
