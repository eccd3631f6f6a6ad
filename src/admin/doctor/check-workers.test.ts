import { describe, expect, it } from 'vitest';
import { checkBuilds, type Queue } from './check-workers.ts';

const queue = (current: string | null, ...polledBy: readonly (string | null)[]): Queue => ({
  name: 'css-control',
  current,
  polledBy,
});

describe('the check of builds', () => {
  it.each([
    ['workers without a build poll, and none is current', queue(null, null)],
    ['workers of the current build poll', queue('1.0', '1.0')],
    ['workers of an earlier build poll beside those of the current one', queue('1.1', '1.0', '1.1')],
    ['nobody polls, which is the matter of another check', queue('1.0')],
  ])('finds nothing when %s', (_when, seen) => {
    expect(checkBuilds([seen]).status).toBe('ok');
  });

  it.each([
    ['no build is current', queue(null, '1.0'), 'No build is current', 'worker-version current'],
    ['only workers of another build poll', queue('1.1', '1.0'), 'Build 1.1 is current', 'Start workers of build 1.1'],
    ['only workers without a build poll', queue('1.1', null), 'Build 1.1 is current', 'worker-version none'],
  ])('finds a fault, and says what to do, when %s', (_when, seen, detail, remedy) => {
    const finding = checkBuilds([queue(null, null), { ...seen, name: 'css-sync' }]);
    expect(finding).toMatchObject({
      status: 'fault',
      detail: expect.stringContaining(detail),
      remedy: expect.stringContaining(remedy),
    });
    expect(finding.detail).toContain('poll css-sync:');
  });
});
