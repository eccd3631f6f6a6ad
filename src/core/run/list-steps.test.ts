import * as v from 'valibot';
import { expect, test } from 'vitest';
import { ConnectorSpec } from '../spec/schema/spec-schema.ts';
import { comparesCombinations, listSteps } from './list-steps.ts';

type Dimensions = readonly Readonly<Record<string, unknown>>[];

/** A run of the first of these resources, given by their `forEach`. */
function runOf(forEach: Readonly<Record<string, Dimensions>>, backfill: unknown = null) {
  const { resources } = v.parse(ConnectorSpec, {
    metadata: { key: 'test', name: 'Test', version: '1.0.0' },
    http: { baseUrl: 'https://api.test' },
    resources: Object.entries(forEach).map(([key, entries]) => ({
      key,
      primaryKey: 'id',
      request: { path: '/' },
      forEach: entries,
    })),
  });
  const findResource = (wanted: string) => {
    const found = resources.find(({ key }) => key === wanted);
    if (!found) throw new Error(`No resource ${wanted}`);
    return found;
  };
  return { resource: findResource(Object.keys(forEach)[0] ?? ''), source: { backfill }, findResource };
}

const stepsOf = (run: ReturnType<typeof runOf>) =>
  listSteps(run).map((step) =>
    step.kind !== 'dimension' ? step.kind : [step.resource.key, step.dimension.as, step.list, step.within],
  );

const live = (resource: string) => ({ as: resource, resource, from: 'live' });
const changed = (resource: string) => ({ as: resource, resource, from: 'store', select: 'changed' });
const values = (as: string) => ({ as, values: '{{ [1] }}' });

test('the entries of a resource are listed in their order', () => {
  const run = runOf({ child: [values('a'), live('parent'), changed('parent')], parent: [] }, {});
  expect(stepsOf(run)).toEqual([
    ['child', 'a', 0, []],
    ['child', 'parent', 1, []],
    ['child', 'parent', 2, []],
  ]);
});

test('the lists of a union follow one another in one list, and their groups come after them', () => {
  const run = runOf({
    child: [
      { as: 'place', union: [{ resource: 'offices' }, { resource: 'homes', value: 'ref' }, { values: '{{ [1] }}' }] },
      { ...values('kind'), group: { size: 2 } },
    ],
    offices: [],
    homes: [],
  });
  const steps = listSteps(run).map(({ kind, ...step }) =>
    'dimension' in step ? [step.list, step.begins, step.keySpace] : [kind, 'members' in step ? step.members : null],
  );
  expect(steps).toEqual([
    [0, true, ['offices', '']],
    [0, false, ['homes', 'ref']],
    [0, false, ['', '']],
    [-2, true, null],
    ['groups', -2],
  ]);
});

test('the entries of a parent that is read live come before it, those of a stored one not at all', () => {
  const run = runOf({
    child: [live('parent'), { ...changed('other'), select: 'all' }],
    parent: [values('a'), live('grandparent')],
    grandparent: [values('b')],
    other: [values('c')],
  });
  expect(stepsOf(run)).toEqual([
    ['parent', 'a', -2, []],
    ['grandparent', 'b', -4, []],
    ['parent', 'grandparent', -3, [-4]],
    ['child', 'parent', 0, [-2, -3]],
    ['child', 'other', 1, []],
  ]);
});

test.each<[string, Dimensions, unknown, boolean]>([
  ['one entry of changed parents', [changed('parent')], null, false],
  ['changed parents beside values', [changed('parent'), values('a')], null, true],
  ['two entries of changed parents', [changed('parent'), { ...changed('parent'), as: 'b' }], null, true],
  ['no changed parents', [live('parent'), values('a')], null, false],
  ['a backfill', [changed('parent'), values('a')], { from: null }, false],
])('combinations are compared or not: %s', (_what, forEach, backfill, isCompared) => {
  const run = runOf({ child: forEach, parent: [] }, backfill);
  expect(comparesCombinations(run)).toBe(isCompared);
  expect(stepsOf(run).at(-1) === 'combinations').toBe(isCompared);
});
