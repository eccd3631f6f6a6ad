import { afterAll, describe, expect, it } from 'vitest';
import { openCatalogue } from '../../../src/catalogue/catalogue.ts';
import { createTestEvaluator } from '../../../src/core/expressions/evaluator-fixture.ts';
import { checkSpec } from '../../../src/core/spec/check/check.ts';
import type { ConnectorSpec, Resource } from '../../../src/core/spec/schema/spec-schema.ts';
import { exampleOf, type Row } from './made-records.ts';
import { type Change, firstRows, isNewestFirst, type Stage, tellOfChange, tellOfMove } from './story.ts';
import { pageSize } from './vendor-list.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const specs = (await openCatalogue().list()).map(({ key, spec: document }) => {
  const checked = checkSpec(document, { expectedKey: key });
  if (!checked.valid) throw new Error(`${key}: ${JSON.stringify(checked.issues)}`);
  return { key, spec: checked.spec };
});

/** The resources of all ready connectors for which something holds, by what they are called. */
const listsWhere = (isMeant: (resource: Resource) => boolean) =>
  specs.flatMap(({ key, spec }) =>
    spec.resources
      .filter(isMeant)
      .map((resource): readonly [string, Stage] => [`${key} ${resource.key}`, stageOf(key, spec, resource)]),
  );

/** A resource with pages of a few items, as each story needs several. */
function stageOf(key: string, spec: ConnectorSpec, resource: Resource): Stage {
  const small = withSmallPages(spec, resource);
  const resources = spec.resources.map((one) => (one === resource ? small : one));
  const changed = { ...spec, resources };
  return { key, spec: changed, example: exampleOf(changed, small), evaluator };
}

function withSmallPages(spec: ConnectorSpec, resource: Resource): Resource {
  const { pagination } = resource;
  const size = pageSize(exampleOf(spec, resource));
  return pagination.size === undefined ? resource : { ...resource, pagination: { ...pagination, size } };
}

/** Links and tokens that hold a place in the list, not a number: with numbers in them nobody sees that the list moves. */
const placesInLinks = ['github issues'];

/** Whether the values of a partition come from a list that is read in the same run. */
const isLive = ({ resource, from }: Resource['forEach'][number]): boolean => resource !== undefined && from === 'live';

const isNumbered = ({ pagination }: Resource): boolean =>
  (pagination.kind === 'page' || pagination.kind === 'offset') && !pagination.stable;

const numbered = listsWhere(isNumbered);

/** Records of a list by the time of creation do not move when they change. */
const isByCreation = ({ incremental }: Resource): boolean =>
  incremental?.kind === 'cursor' && /creat|send_time|committer/.test(incremental.cursor.field ?? '');

const without = (rows: readonly Row[], no: number | undefined) => rows.filter((row) => row.no !== no);

/** The changes that a list can see. */
function changesOf({ example }: Stage): readonly (readonly [string, Change])[] {
  const isFirst = isNewestFirst(example);
  const isAddedFirst = isFirst || example.resource.incremental === undefined;
  const added: Change = (rows, at) => {
    const row = { no: 90, at, revision: 0 };
    return isAddedFirst ? [row, ...rows] : [...rows, row];
  };
  const gone: Change = (rows) => without(rows, rows[1]?.no);
  const moved: Change = (rows, at) => {
    const { no = 0, revision = 0 } = rows[1] ?? {};
    const changed = { no, at, revision: revision + 1 };
    return isFirst ? [changed, ...without(rows, no)] : [...without(rows, no), changed];
  };
  return [
    ...(isByCreation(example.resource) ? [] : [['a record behind changes and moves', moved] as const]),
    ['a record behind is deleted', gone],
    ['a record comes in', added],
    ['a record behind is deleted, and another one comes in', (rows, at) => added(gone(rows, at), at)],
  ];
}

describe.each(numbered)('the numbered list of %s', (_name, stage) => {
  const isScanned = stage.example.resource.incremental === undefined;
  it.each(changesOf(stage))('loses nothing when between two pages %s', async (_what, change) => {
    for (const before of [1, 2])
      for (const isKnown of isScanned ? [true, false] : [false]) {
        const place = `before later page ${before}${isKnown ? ', of a list that is known' : ''}`;
        expect(await tellOfMove(stage, { change, before, isKnown }), place).toEqual([]);
      }
  });
});

/** Resources whose parents come from a numbered list, with that list. */
const families = specs.flatMap(({ key, spec }) =>
  spec.resources.flatMap((resource) => {
    const [source] = resource.forEach.filter(isLive);
    const found = spec.resources.find((one) => one.key === source?.resource);
    if (!found || !isNumbered(found)) return [];
    const parent = withSmallPages(spec, found);
    const changed = { ...spec, resources: spec.resources.map((one) => (one === found ? parent : one)) };
    const example = exampleOf(changed, resource);
    const stage: Stage = { key, spec: changed, example, parent: exampleOf(changed, parent), evaluator };
    return [[`${key} ${resource.key}`, stage] as const];
  }),
);

describe.each(families)('the records of %s', (_name, stage) => {
  const { parent: example = stage.example } = stage;
  it.each(changesOf({ ...stage, example }))('are all there when of their parents %s', async (_what, change) => {
    for (const before of [1, 2])
      for (const isKnown of [true, false])
        expect(await tellOfMove(stage, { change, before, isKnown }), `before later page ${before}`).toEqual([]);
  });
});

describe('links of the header', () => {
  it('are followed only where they hold a place in the list', () => {
    expect(listsWhere(({ pagination }) => pagination.kind === 'link_header').map(([name]) => name)).toEqual(
      placesInLinks,
    );
  });
});

const conditional = listsWhere(
  ({ request, pagination }) => request.cache.mode === 'conditional' && pagination.kind !== 'none',
);

describe.each(conditional)('the conditional list of %s', (_name, stage) => {
  const rows = firstRows(stage.example);
  const [{ at } = { at: 0 }] = rows;
  // Changed at once, so that each request asks for all of them.
  const equal = rows.map((row) => ({ ...row, at }));

  it('hides no change of a later page behind an unchanged first one', async () => {
    const change: Change = (list, now) => {
      const last = list.at(-1) ?? { no: 0, revision: 0 };
      return [...without(list, last.no), { no: last.no, at: now, revision: last.revision + 1 }];
    };
    expect(await tellOfChange(stage, { rows: equal, change, isConditional: true })).toEqual([]);
  });

  it('hides no record that comes in behind its only page', async () => {
    const change: Change = (list, now) => [...list, { no: 90, at: now, revision: 0 }];
    expect(await tellOfChange(stage, { rows: equal.slice(0, 2), change, isConditional: true })).toEqual([]);
  });
});

const filteredHere = listsWhere(
  ({ incremental }) => incremental?.kind === 'cursor' && incremental.clientFilter && incremental.order === 'desc',
);

describe.each(filteredHere)('the list of %s, newest first', (_name, stage) => {
  it.each([1, 2])('is read behind %i old records that it shows first', async (pinned) => {
    const rows = firstRows(stage.example);
    const first = rows.slice(-pinned);
    const size = pageSize(stage.example);
    const change: Change = (list, now) => {
      const rest = list.slice(pinned).map((row, index) => (index < size + 2 ? { ...row, at: now, revision: 1 } : row));
      return [...first, ...rest];
    };
    expect(await tellOfChange(stage, { rows: [...first, ...rows.slice(0, -pinned)], change })).toEqual([]);
  });
});
