import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../work/effort-fixture.ts';
import { parseTemplate } from './template-parts.ts';

describe('parseTemplate', () => {
  it.each([
    ['', [{ literal: '' }]],
    ['plain }} text', [{ literal: 'plain }} text' }]],
    ['{{ params.x }}', [{ expression: 'params.x' }]],
    ['a/{{ b }}/c{{d}}', [{ literal: 'a/' }, { expression: 'b' }, { literal: '/c' }, { expression: 'd' }]],
    ["{{ batch.keys.{ 'id': { 'v': $ }} }}", [{ expression: "batch.keys.{ 'id': { 'v': $ }}" }]],
    ["{{ '}}' }}", [{ expression: "'}}'" }]],
    ['/r/{{{ each.repo }}}/i', [{ literal: '/r/' }, { expression: 'each.repo', raw: true }, { literal: '/i' }]],
    ["{{{'a': b}}}", [{ expression: "{'a': b}" }]],
  ])('cuts %s', (text, parts) => {
    expect(parseTemplate(text)).toEqual(parts);
  });

  it.each(['{{', '{{ a', '{{ }}', '{{ a b }}', '{{{ a b }}}', `{{ (${'}}'.repeat(1000)}`])('refuses %s', (text) => {
    expect(() => parseTemplate(text)).toThrow(expect.objectContaining({ code: 'spec_invalid' }));
  });

  it('returns fast for a text made of holes that never close', () => {
    const cpuMs = cpuMsOf(() => {
      expect(() => parseTemplate(`{{ a + ${'(}} '.repeat(15_000)}`)).toThrow(/placeholder/);
    });
    expect(cpuMs).toBeLessThan(2000);
  });
});
