import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The path of an empty folder that is gone when the test has ended. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'connector-sync-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
