import { expect, it } from 'vitest';
import { durationMs } from './duration.ts';

it.each([
  ['PT0S', 0],
  ['PT1.5S', 1500],
  ['PT90S', 90_000],
  ['PT2M', 120_000],
  ['P30D', 2_592_000_000],
  ['P2W', 1_209_600_000],
  ['P1DT2H3M4S', 93_784_000],
  ['P36525D', 3_155_760_000_000],
])('%s is %i ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});

it.each([
  '',
  'P',
  'PT',
  'P1DT',
  'P1M',
  'P1Y',
  '30D',
  'PT1H1H',
  'P-1D',
  'P1W1D',
  'PT1.2345S',
  'pt1s',
  ' PT1S',
  'PT9999999999S',
  'P36525DT1S',
  'P999999999W',
])('%s is no duration', (text) => {
  expect(durationMs(text)).toBeNull();
});
