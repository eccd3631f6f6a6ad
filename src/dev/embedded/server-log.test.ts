import { appendFileSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder } from '../../../test/support/service/scratch-folder.ts';
import { serverLog } from './server-log.ts';

const warning = `${'a warning of a task that another start has left; '.repeat(20)}\n`;

/** A log that was just opened, and what writes to it. */
function opened() {
  const path = join(scratchFolder(), 'server.log');
  const log = serverLog(path);
  closeSync(log.open());
  return { log, write: (text: string) => appendFileSync(path, text) };
}

it('a log says what was written since the start, however much was written before it', () => {
  const { log, write } = opened();
  for (let written = 0; written < 1_000_000; written += warning.length) write(warning);
  expect(log.says('Temporal Server:')).toBe(false);
  write('Temporal Server:  localhost:7244\n');
  expect(log.says('temporal server:')).toBe(true);
  expect(log.says('Temporal Server:')).toBe(true);
  expect(log.tail()).toMatch(/^.{1950,}Temporal Server: {2}localhost:7244$/s);
});

it('a log says what begins in one piece of it and ends in the next', () => {
  for (const before of [65_535, 65_530, 65_521, 65_520, 131_071]) {
    const { log, write } = opened();
    write('x'.repeat(before));
    expect(log.says('Temporal Server:')).toBe(false);
    write('Temporal ');
    expect(log.says('Temporal Server:')).toBe(false);
    write('Server:');
    expect(log.says('Temporal Server:')).toBe(true);
  }
});

it('a log does not say what an earlier start wrote', () => {
  const { log, write } = opened();
  write('Temporal Server:\nä');
  closeSync(log.open());
  expect(log.says('Temporal Server:')).toBe(false);
  write('address already in use');
  expect(log.says('Address already in use')).toBe(true);
  expect(log.tail()).toBe('address already in use');
});
