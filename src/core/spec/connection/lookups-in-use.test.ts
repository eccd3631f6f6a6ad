import { describe, expect, it } from 'vitest';
import { changedSpec, specDocument } from '../../../../test/support/sync/spec-documents.ts';
import { checkSpec } from '../check/check.ts';
import { dependenciesOf } from '../check/step-dependencies.ts';
import { lookupsInUse } from './lookups-in-use.ts';

const fetched = (assignTo: string, parts: Readonly<Record<string, unknown>> = {}) => ({
  kind: 'request',
  assignTo,
  keyBy: 'id',
  request: { path: `/${assignTo}` },
  ...parts,
});
const lookups = [
  fetched('a'),
  fetched('b', { value: '$lookups.a.x' }),
  fetched('c'),
  fetched('d', { dependsOn: ['b'] }),
];

function parse(document: unknown) {
  const result = checkSpec(document);
  if (!result.valid) throw new Error(JSON.stringify(result.issues));
  return result.spec;
}

function namesInUse(changes: Readonly<Record<string, unknown>>): readonly string[] {
  const spec = parse(changedSpec({ lookups, ...changes }));
  const [resource] = spec.resources;
  return lookupsInUse(spec, resource?.key ?? '').map(({ assignTo }) => assignTo);
}

describe('the lookups a resource uses', () => {
  it.each([
    ['nothing that names one', {}, []],
    ['its transform', { 'resources.0.transform': '{ "x": $lookup($lookups.c, y) }' }, ['c']],
    ['a table by its own name', { 'resources.0.transform': '{ "x": $lookup($c, y) }' }, ['c']],
    ['its request', { 'resources.0.request.query': { a: ['{{ lookups.c.k }}'] } }, ['c']],
    ['what all requests share', { 'http.headers': { 'X-A': '{{ lookups.c.k }}' } }, ['c']],
    [
      'an enrichment',
      { 'resources.0.enrich': [{ assignTo: 'e', key: '$lookups.c.k', request: { path: '/' } }] },
      ['c'],
    ],
    [
      'what an enrichment selects',
      { 'resources.0.enrich': [{ assignTo: 'e', key: 'record.x', request: { path: '/' }, select: '$lookups.c.k' }] },
      ['c'],
    ],
    ['changeDetection', { 'resources.0.changeDetection': { lookups: ['c'] } }, ['c']],
    ['another lookup, directly and further on', { 'resources.0.filter': '$exists($lookups.d.x)' }, ['a', 'b', 'd']],
    ['all of them as a whole', { 'resources.0.transform': '{ "x": $lookup($lookups, kind) }' }, ['a', 'b', 'c', 'd']],
  ])('are found through %s', (_what, changes, names) => {
    expect(namesInUse(changes)).toEqual(names);
  });

  it('are those of the example with contacts', () => {
    const spec = parse(specDocument('hubspot-crm'));
    expect(lookupsInUse(spec, 'contacts').map(({ assignTo }) => assignTo)).toEqual(['owners', 'countries']);
    const [link, company] = spec.resources[0]?.enrich ?? [];
    expect(link && dependenciesOf(link, 'enrichment')).toEqual([]);
    expect(company && dependenciesOf(company, 'enrichment')).toEqual(['companyLink']);
  });
});

it('a step that reads another by its own name depends on it, so a loop of such is one', () => {
  const enrich = (key: string, assignTo: string) => ({ assignTo, key, request: { path: '/' } });
  const document = changedSpec({ 'resources.0.enrich': [enrich('$two.id', 'one'), enrich('$one.id', 'two')] });
  expect(checkSpec(document)).toMatchObject({
    valid: false,
    issues: [{ code: 'cycle', path: 'resources.0.enrich.1' }],
  });
});
