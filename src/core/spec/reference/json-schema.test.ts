import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ajv,
  isInside,
  placeOf,
  placesRefused,
  schema,
  validate,
} from '../../../../test/support/sync/schema-places.ts';
import { changedSpec, put, specDocument } from '../../../../test/support/sync/spec-documents.ts';
import { structural } from '../../../../test/support/sync/structural-cases.ts';
import { citiesSpec, evilSpec } from '../../../dev/demo/specs.ts';
import { valuesAt } from '../check/document-paths.ts';
import { listLengths } from '../check/sizes.ts';

const readme = readFileSync('README.md', 'utf8');
const [readmeSpec = ''] = [...readme.matchAll(/-d '(\{[^']*\})'/g)].map(([, body = '']) => body);

/** Every property of every object in the schema, with the names of what it is in. */
function propertiesOf(value: unknown, at: string): readonly (readonly [at: string, schema: object])[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.entries(Object(Reflect.get(value, 'properties'))).map(
    ([name, property]) => [`${at}.${name}`, Object(property)] as const,
  );
  const isValue = (key: string) => ['if', 'examples', 'default', 'const', 'enum', 'not'].includes(key);
  const inner = Object.entries(value).flatMap(([key, child]) =>
    isValue(key) ? [] : propertiesOf(child, `${at}/${key}`),
  );
  return [...own, ...inner];
}

describe('the JSON Schema of a ConnectorSpec', () => {
  it.each(['minimal', 'github-issues', 'stripe', 'hubspot-crm'] as const)('accepts the example %s', (name) => {
    expect(placesRefused(specDocument(name))).toEqual([]);
  });

  it('accepts the specs of the demo', () => {
    expect([citiesSpec, evilSpec].flatMap(placesRefused)).toEqual([]);
  });

  it('accepts the spec of the README, notes of an author and an org id', () => {
    expect(placesRefused(JSON.parse(readmeSpec))).toEqual([]);
    expect(placesRefused(changedSpec({ 'x-note': 1, orgId: 'org_1', 'resources.0.x-note': 1 }))).toEqual([]);
    expect(placesRefused(changedSpec({ 'resources.0.primaryKey': ['id', 'site'] }))).toEqual([]);
  });

  it.each(structural)('refuses $rule at the places where the validator does', ({ changes, issues }) => {
    const places = issues.map((issue) => issue.replace('schema ', ''));
    const refused = placesRefused(changedSpec(changes));
    expect(refused.filter((place) => places.includes(place))).toEqual(places);
    expect(refused.filter((place) => !places.some((path) => place === path || isInside(place, path)))).toEqual([]);
  });

  it('accepts every directive of a time format, and a percent sign as often as it comes', () => {
    const format = '%a %A %b %B %e %y %I %p %f %z %s %F %T %% %%';
    const cursor = { field: 'at', type: 'datetime', format };
    expect(placesRefused(changedSpec({ 'resources.0.incremental': { kind: 'cursor', cursor, order: 'asc' } }))).toEqual(
      [],
    );
  });

  it.each(listLengths)('refuses lists at %s that are longer than the validator accepts', (pattern, max) => {
    const step = { assignTo: 'a', request: { path: '/a' } };
    const document = changedSpec({
      lookups: [{ ...step, kind: 'request', keyBy: 'id' }],
      'resources.0.enrich': [step],
      'resources.0.forEach': pattern.includes('union') ? [{ as: 'a' }] : [],
      tests: [{ name: 'n', resource: 'accounts', expect: {} }],
    });
    put(
      document,
      pattern.replaceAll('*', '0'),
      Array.from({ length: max + 1 }, () => ({})),
    );
    validate(document);
    const lists = validate.errors?.filter(({ keyword }) => keyword === 'maxItems').map(placeOf);
    expect(lists).toEqual([valuesAt(document, pattern)[0]?.path]);
  });

  it('describes every field', () => {
    const mute = propertiesOf(schema, '').filter(
      ([, property]) => !('description' in property) && !isCondition(property),
    );
    expect(mute.map(([at]) => at)).toEqual([]);
  });

  it('has only examples and defaults that it accepts', () => {
    ajv.addSchema({ ...schema, $id: 'spec' });
    for (const [at, property] of propertiesOf(schema, '')) {
      const { examples = [], ...rest } = JSON.parse(JSON.stringify(property).replaceAll('"#/', '"spec#/'));
      const values = 'default' in rest ? [...examples, rest.default] : examples;
      const accepts = values.length > 0 ? ajv.compile(rest) : null;
      for (const value of values) expect([at, value, accepts?.(value)]).toEqual([at, value, true]);
    }
  });
});

/** A part of a condition, which says nothing about the field itself. */
const isCondition = (property: object): boolean =>
  property.valueOf() === false || Object.keys(property).every((key) => key === 'required' || key === 'const');
