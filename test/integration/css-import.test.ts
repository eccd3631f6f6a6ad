import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importDocument } from '../../src/core/import/import.ts';
import { folderWithSpec } from '../support/cli/authors.ts';

describe('css import', () => {
  const openapi = {
    openapi: '3.0.0',
    info: { title: 'Acme CRM', version: '1' },
    servers: [{ url: 'https://api.acme.example' }],
    paths: {
      '/contacts': {
        get: {
          responses: {
            200: {
              description: 'Contacts',
              content: {
                'application/json': {
                  schema: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } },
                },
              },
            },
          },
        },
      },
    },
  };

  it('writes a valid spec, says the outcome of each part, and replaces no file', async () => {
    const { css, folder } = folderWithSpec();
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openapi));
    const imported = await css('import', 'openapi', 'openapi.json', '--out', 'specs', '--key', 'acme', '--json');
    const { file, spec, report } = JSON.parse(imported.stdout);
    expect({ exitCode: imported.exitCode, file, key: spec.metadata.key, report }).toMatchObject({
      exitCode: 0,
      file: 'specs/acme.yaml',
      key: 'acme',
      report: [{ status: 'converted', path: null, reason: null }],
    });
    expect((await css('validate', 'specs/acme.yaml')).exitCode).toBe(0);
    const again = await css('import', 'openapi', 'openapi.json', '--out', 'specs', '--key', 'acme');
    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('specs/acme.yaml exists') });
    const shown = await css('import', 'openapi', 'openapi.json');
    expect(shown).toMatchObject({
      stdout: expect.stringMatching(/^metadata:\n {2}key: acme-crm\n/),
      stderr: '1 of 1 converted\n',
    });
    expect((await css('import', 'openapi', 'people.yaml')).exitCode).toBe(1);
  });

  it('reads a description of several MB, which the service refuses with what to do', async () => {
    const { css, folder } = folderWithSpec();
    const [path] = Object.values(openapi.paths);
    const fields = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`field_${index}`, { type: 'string' }]),
    );
    const schemas = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`Thing${index}`, { type: 'object', properties: fields }]),
    );
    const document = JSON.stringify({ ...openapi, paths: { '/contacts': path }, components: { schemas } });
    expect(document.length).toBeGreaterThan(3_000_000);
    writeFileSync(join(folder, 'large.json'), document);
    const { exitCode, stderr } = await css('import', 'openapi', 'large.json', '--out', 'specs', '--key', 'large');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const inService = importDocument({ format: 'openapi', document });
    await expect(inService).rejects.toMatchObject({
      issues: [{ message: 'the document has more than 100000 values: `css import` reads larger ones from a file' }],
    });
  });
});
