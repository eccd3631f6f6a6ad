/**
 * What an editor says of a spec, and what the validator says: the JSON Schema and the validator's own schemas get the same
 * documents, each with one mistake.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readYaml } from '../../src/core/json/yaml.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';
import { checkStructure } from '../../src/core/spec/check/structure.ts';
import { citiesSpec, evilSpec } from '../../src/dev/demo/specs.ts';
import { blocksOf, type Document, specAround } from '../support/sync/documented-specs.ts';
import { mistakesIn } from '../support/sync/mistakes.ts';
import { isInside, placesRefused } from '../support/sync/schema-places.ts';
import { changedSpec, specDocument } from '../support/sync/spec-documents.ts';
import { refusedTexts } from '../support/sync/structural-cases.ts';

const root = join(import.meta.dirname, '../..');
const catalogue = readdirSync(join(root, 'connectors')).map((key) => ({
  name: `connectors/${key}`,
  document: readYaml(readFileSync(join(root, 'connectors', key, 'spec.yaml'), 'utf8')).value as Document,
}));
const examples = (['minimal', 'github-issues', 'stripe', 'hubspot-crm'] as const).map((name) => ({
  name,
  document: specDocument(name),
}));
const documented = [
  ...blocksOf('cookbook').map(({ at, document }) => ({ name: at, document: specAround(document) })),
  ...blocksOf('tutorial').flatMap(({ at, note, document }) =>
    note?.startsWith('invalid') ? [] : [{ name: at, document }],
  ),
];
const demo = [citiesSpec, evilSpec].map((document, no) => ({ name: `demo ${no}`, document: document as Document }));
const specs = [...documented, ...examples, ...demo, ...catalogue];

it.each(specs)('an editor accepts $name, as the validator does', ({ document }) => {
  expect(placesRefused(document)).toEqual([]);
  expect(checkStructure(document)).toMatchObject({ ok: true });
});

/** What no JSON Schema can say, by the place; each with the reason. */
const beyondSchemas: readonly (readonly [place: RegExp, reason: string])[] = [
  [/\.timezone$/, 'which time zones there are is known to the runtime, and new ones come'],
];

it('an editor refuses each mistake where the validator does, and nothing that the validator accepts', () => {
  const missed: string[] = [];
  const invented: string[] = [];
  let refusals = 0;
  for (const { place, what, document } of mistakesIn(specs.map((spec) => spec.document))) {
    const structure = checkStructure(document);
    const wrong = structure.ok ? [] : structure.issues.map(({ path }) => path);
    const refused = placesRefused(document);
    refusals += wrong.length;
    const isMissed = (path: string) =>
      !refused.some((found) => found === path || path === `${found}.kind` || path === `${found}.mode`) &&
      !beyondSchemas.some(([pattern]) => pattern.test(path));
    // Of an object that lacks its one of two fields, the validator names the object, a schema the fields.
    const isAmong = (paths: readonly string[], found: string) =>
      paths.some((path) => found === path || isInside(found, path) || isInside(path, found));
    const unexplained = refused.filter((found) => !isAmong(wrong, found));
    // The rest are rules about several fields.
    const checked = unexplained.length > 0 ? checkSpec(document) : null;
    const issues = checked === null || checked.valid ? [] : checked.issues.map(({ path }) => path);
    missed.push(...wrong.filter(isMissed).map((path) => `${place}, ${what}: ${path}`));
    invented.push(
      ...unexplained.filter((found) => !isAmong(issues, found)).map((path) => `${place}, ${what}: ${path}`),
    );
  }
  expect({ missed, invented }).toEqual({ missed: [], invented: [] });
  expect(refusals).toBeGreaterThan(3000);
});

it.each(refusedTexts)('an editor refuses the texts at $path that the validator refuses', ({ path, values }) => {
  for (const value of values) expect([value, placesRefused(changedSpec({ [path]: value }))]).toEqual([value, [path]]);
});
