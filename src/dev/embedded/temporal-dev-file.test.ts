import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../../../test/support/service/scratch-folder.ts';
import { readTemporalDevFile, temporalDevFile } from './temporal-dev-file.ts';

function read(text: string) {
  const path = join(scratchFolder(), 'dev.yaml');
  writeFileSync(path, text);
  return readTemporalDevFile(path);
}

describe('readTemporalDevFile', () => {
  it('reads what the project ships', () => {
    const settings = readTemporalDevFile(temporalDevFile);
    expect(settings.cli).toMatchObject({ namespace: 'default', port: '7244', 'ui-port': '8244' });
    expect(settings.searchAttributes).toMatchObject({ CssRunId: 'Keyword', CssOrgId: 'Keyword' });
    expect(settings.dynamicConfig).toMatchObject({ 'history.transferProcessorMaxPollRPS': '2000' });
    expect(settings.sqlitePragmas).toEqual({ journal_mode: 'wal', synchronous: '1' });
  });

  it('takes keys indented or in braces, with comments and quotes', () => {
    const text =
      '# top\nenv:\n  dev: # ours\n    port: 1\n    ip: "::1"\ndynamic-config:\n  dev: { a.b: true, c: 2 }\n';
    expect(read(text)).toEqual({
      cli: { port: '1', ip: '::1' },
      dynamicConfig: { 'a.b': 'true', c: '2' },
      searchAttributes: {},
      sqlitePragmas: {},
    });
  });

  it('leaves other environments alone', () => {
    expect(read('env:\n  prod:\n    port: 1\n  dev:\n    port: 2\n').cli).toEqual({ port: '2' });
  });

  it('takes a key without a value as empty, and a file without keys as no settings', () => {
    expect(read('env:\n  dev:\n    ip:\n').cli).toEqual({ ip: '' });
    expect(read('# nothing yet\n').cli).toEqual({});
  });

  it('takes a text that holds quotes or a colon as it is', () => {
    expect(read(`dynamic-config:\n  dev: { shift: '"50ms"', at: "a: b" }\n`).dynamicConfig).toEqual({
      shift: '"50ms"',
      at: 'a: b',
    });
  });

  it('names the line it cannot read', () => {
    expect(() => read('env:\n  dev:\n    - port\n')).toThrow('line 3');
  });

  it.each([
    ['a key that stands out of its column', 'env:\n  dev:\n    port: 1\n   ip: 2\n', /dev\.yaml: .*column.* at line 4/],
    ['a quote that does not end', 'env:\n  dev:\n    ip: "x\n', /dev\.yaml: .*quote.* at line /],
    ['a key that comes twice', 'env:\n  dev:\n    ip: 1\n    ip: 2\n', /dev\.yaml: .*unique at line 4/],
    ['a list as a value', 'env:\n  dev:\n    port: 1\n    ip: [1]\n', /dev\.yaml, line 4: expected one value/],
    ['a value in place of keys', 'env:\n  dev: 1\n', /dev\.yaml, line 2: expected "key:" or "key: value"/],
  ])('names file, line and form of %s', (_, text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
