import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../core/expressions/evaluator-fixture.ts';
import { checkSpec } from '../core/spec/check/check.ts';
import { connectorSpecSchema } from '../core/spec/reference/json-schema.ts';
import type { ConnectorSpec } from '../core/spec/schema/spec-schema.ts';
import { runSpecTests } from '../core/spec-tests/run-spec-tests.ts';
import { openCatalogue } from './catalogue.ts';

const catalogue = openCatalogue();
const connectors = await catalogue.list();
const folder = new URL('../../connectors/', import.meta.url);
const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const validate = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(connectorSpecSchema());

/** Throws with the issues of a spec that is not valid. */
function checked(document: unknown, expectedKey: string): ConnectorSpec {
  const result = checkSpec(document, { expectedKey });
  if (!result.valid) throw new Error(JSON.stringify(result.issues, null, 1));
  return result.spec;
}

/** The text of a section of a page, without its title. */
const sectionOf = (page: string, title: string): string =>
  page
    .split(/^## /m)
    .find((part) => part.startsWith(`${title}\n`))
    ?.slice(title.length)
    .trim() ?? '';

describe.each(connectors.map((connector) => [connector.key, connector] as const))(
  'the connector %s',
  (key, connector) => {
    it('has a spec that the service and editors accept, for any destination', () => {
      const text = readFileSync(new URL(`${key}/spec.yaml`, folder), 'utf8');
      expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../../connector-spec.schema.json');
      const spec = checked(connector.spec, key);
      expect(spec).toMatchObject({ metadata: { name: expect.any(String), docsUrl: expect.stringMatching(/^https:/) } });
      expect(spec.destination).toBeUndefined();
      expect(validate(connector.spec), JSON.stringify(validate.errors)).toBe(true);
    });

    it('has three to ten resources, each with tests, and all of them pass', async () => {
      const spec = checked(connector.spec, key);
      expect(connector.resources.length).toBeGreaterThanOrEqual(3);
      expect(connector.resources.length).toBeLessThanOrEqual(10);
      expect(new Set(spec.tests.map(({ resource }) => resource))).toEqual(new Set(connector.resources));
      expect(await runSpecTests(spec, { evaluator })).toEqual([]);
    });

    it('has a page that names every resource, limits and credentials, and what it was verified against', () => {
      const { readme, resources, verifiedAgainst } = connector;
      const read = sectionOf(readme, 'What it reads');
      for (const resource of resources) expect(read).toMatch(new RegExp(`^\\| \`${resource}\` \\|`, 'm'));
      expect(sectionOf(readme, 'Limits')).not.toBe('');
      expect(sectionOf(readme, 'Credentials')).not.toBe('');
      expect(sectionOf(readme, 'Verified against')).toBe(verifiedAgainst.statement);
    });
  },
);

describe('the catalogue', () => {
  it('finds a connector by its key, and no other', async () => {
    expect(await catalogue.find('github')).toMatchObject({ key: 'github', name: 'GitHub' });
    expect(await catalogue.find('no-such-connector')).toBeUndefined();
  });

  it('is refused when a folder has no spec', async () => {
    await expect(openCatalogue(new URL('../', folder)).list()).rejects.toThrow('ENOENT');
  });
});
