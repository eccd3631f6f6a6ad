import type { Random } from '../simulation/random.ts';
import type { StoryApi } from './api.ts';
import { collectionOf, type SpecGenes } from './genes.ts';
import { areas, type Collection, collections, groups, newFields, type Records, regions, statuses } from './records.ts';
import { subset } from './subset.ts';

/** The first records of a story: up to ten days old, some together; at times none of them has a note. */
export function fill(random: Random, records: Records): void {
  const day = 86_400_000;
  const count = { items: random.between(5, 14), parents: random.between(3, 7), children: random.between(6, 16) };
  const hasNotes = random.chance(0.85);
  let at = Date.now() - 10 * day;
  const order = random.chance(0.5)
    ? (['items', 'parents', 'children'] as const)
    : (['parents', 'children', 'items'] as const);
  for (const collection of order)
    for (let number = 1; number <= count[collection]; number += 1) {
      at += random.between(1, day / 5);
      const parents = records.all('parents').map(({ id }) => id);
      const together = number > 1 && random.chance(0.15);
      const fields = newFields(random, collection, parents);
      const given = hasNotes || !('note' in fields) ? fields : { ...fields, note: null };
      records.write(collection, idOf(collection, number), given, { at, together });
    }
}

/** Digits alone: a receiver or a list may name a record by a number. */
const idOf = (collection: Collection, number: number): string =>
  `${collections.indexOf(collection) + 1}${String(number).padStart(3, '0')}`;

interface Scene {
  readonly random: Random;
  readonly api: StoryApi;
  readonly genes: SpecGenes;
  /** The kinds of changes that happen in the story, each as often as its weight. */
  readonly mutations: readonly NamedMutation[];
}

type Mutation = (scene: Scene, collection: Collection) => string | null;

/** A kind of change. */
export interface NamedMutation {
  readonly name: string;
  readonly run: Mutation;
}

/** Some kinds of changes, as only some of them hide what others lose. */
export const someMutations = (random: Random): readonly NamedMutation[] => subset(random, mutations);

/** Changes of the API at random; says which. */
export function mutate(scene: Scene, times: number): string {
  const done: string[] = [];
  for (let left = times; left > 0; left -= 1) {
    const collection = collectionOf(scene.random.pick(scene.genes.resources).key);
    const { name, run } = scene.random.pick(scene.mutations);
    const id = run(scene, collection);
    if (id !== null) done.push(`${name} ${id}`);
  }
  return done.join(', ');
}

/** One that is there, changed; its parent changes, too, as those of APIs do whose lists of parents say what is new. */
function change(
  fieldsOf: (scene: Scene, collection: Collection) => Readonly<Record<string, unknown>> | null,
  together = false,
): Mutation {
  return (scene, collection) => {
    const { random, api } = scene;
    const all = api.records.all(collection);
    if (all.length === 0) return null;
    const { id, fields } = pickOne(random, all);
    const changed = fieldsOf(scene, collection);
    if (!changed) return null;
    touchParents(scene, collection, [fields['parent'], changed['parent']]);
    api.records.write(collection, id, changed, { together });
    return id;
  };
}

/** Often one of the first, so that several things happen to the same. */
const pickOne = <Item>(random: Random, all: readonly Item[]): Item =>
  random.pick(random.chance(0.4) ? all.slice(0, 2) : all);

/** A record, and the fields that it gets. */
interface Update {
  readonly collection: Collection;
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Changes a record, and its parent with it. */
export function update(scene: Scene, { collection, id, fields }: Update): void {
  const { records } = scene.api;
  touchParents(scene, collection, [records.find(collection, id)?.fields['parent']]);
  records.write(collection, id, fields);
}

/** Deletes a record in the way that the spec of its resource can notice. */
export function remove(scene: Scene, collection: Collection, id: string): void {
  const { records } = scene.api;
  touchParents(scene, collection, [records.find(collection, id)?.fields['parent']]);
  const mode = scene.genes.resources.find(({ key }) => key === collection)?.deletes.mode;
  if (mode === 'flag') records.write(collection, id, { status: 'deleted' });
  else records.remove(collection, id);
}

/** A new record that lists of numbers show late; null: its id was taken. */
export function createLate(scene: Scene, collection: Collection): string | null {
  const { random, api } = scene;
  const parents = api.records.all('parents').map(({ id }) => id);
  const id = idOf(collection, random.between(100, 999));
  const isTaken = api.records.placesOf(collection, id).size > 0;
  if (isTaken || (collection === 'children' && parents.length === 0)) return null;
  const fields = newFields(random, collection, parents);
  touchParents(scene, collection, [fields['parent']]);
  api.records.writeLate(collection, id, fields);
  return id;
}

/** Puts a record back as it was before its last change; null: none can be. */
export function goBack(scene: Scene, collection: Collection): string | null {
  const { random, api } = scene;
  for (const { id, fields } of random.shuffled(api.records.all(collection))) {
    if (!api.records.goBack(collection, id)) continue;
    touchParents(scene, collection, [fields['parent'], api.records.find(collection, id)?.fields['parent']]);
    return id;
  }
  return null;
}

function touchParents({ api }: Scene, collection: Collection, parents: readonly unknown[]): void {
  if (collection !== 'children') return;
  for (const parent of new Set(parents)) {
    const found = api.records.find('parents', String(parent));
    if (found) api.records.write('parents', found.id, { kids: Number(found.fields['kids']) + 1 });
  }
}

const mutations: readonly { readonly name: string; readonly weight: number; readonly run: Mutation }[] = [
  {
    name: 'create',
    weight: 5,
    run: (scene, collection) => {
      const { random, api } = scene;
      const parents = api.records.all('parents').map(({ id }) => id);
      if (collection === 'children' && parents.length === 0) return null;
      const id = idOf(collection, random.between(100, 999));
      const fields = newFields(random, collection, parents);
      touchParents(scene, collection, [fields['parent']]);
      api.records.write(collection, id, fields);
      return id;
    },
  },
  {
    name: 'recreate',
    weight: 4,
    run: (scene, collection) => {
      const { random, api } = scene;
      const ids = [...new Set(api.records.removals(collection).map(({ id }) => id))];
      const id = ids.filter((known) => !api.records.find(collection, known))[0];
      const parents = api.records.all('parents').map((parent) => parent.id);
      if (id === undefined || (collection === 'children' && parents.length === 0)) return null;
      const fields = newFields(random, collection, parents);
      touchParents(scene, collection, [fields['parent']]);
      api.records.write(collection, id, fields);
      return id;
    },
  },
  {
    name: 'delete',
    weight: 4,
    run: (scene, collection) => {
      const { random, api } = scene;
      const all = api.records.all(collection);
      if (all.length < 3) return null;
      const { id } = pickOne(random, all);
      remove(scene, collection, id);
      return id;
    },
  },
  {
    name: 'is made anew',
    weight: 3,
    run: (scene, collection) => {
      const { random, api } = scene;
      const parents = api.records.all('parents').map((parent) => parent.id);
      const all = api.records.all(collection);
      if (all.length === 0 || collection === 'parents') return null;
      const { id } = pickOne(random, all);
      remove(scene, collection, id);
      api.records.write(collection, id, newFields(random, collection, parents));
      return id;
    },
  },
  { name: 'update', weight: 5, run: change(({ random }) => ({ name: `name ${random.between(1, 99)}` })) },
  { name: 'update at the same time', weight: 2, run: change(({ random }) => ({ price: random.between(1, 90) }), true) },
  { name: 'price', weight: 2, run: change(({ random }) => ({ price: random.between(1, 90) })) },
  { name: 'status', weight: 2, run: change(({ random }) => ({ status: random.pick(statuses) })) },
  { name: 'noise', weight: 2, run: change(({ random }) => ({ noise: random.between(1, 1_000_000) })) },
  { name: 'note turns null', weight: 2, run: change(() => ({ note: null })) },
  { name: 'note vanishes', weight: 2, run: change(() => ({ note: undefined })) },
  { name: 'note comes', weight: 1, run: change(({ random }) => ({ note: `note ${random.between(1, 99)}` })) },
  { name: 'group', weight: 2, run: change(({ random }) => ({ group: random.pick(groups) })) },
  { name: 'area', weight: 2, run: change(({ random }) => ({ area: random.pick(areas) })) },
  { name: 'becomes invalid', weight: 3, run: change(() => ({ price: -5 })) },
  {
    name: 'all notes turn null',
    weight: 1,
    run: (scene, collection) => {
      for (const { id } of scene.api.records.all(collection)) update(scene, { collection, id, fields: { note: null } });
      return `of ${collection}`;
    },
  },
  {
    name: 'becomes valid',
    weight: 3,
    run: (scene, collection) => {
      const invalid = scene.api.records.all(collection).find(({ fields }) => Number(fields['price']) < 0);
      if (!invalid) return null;
      update(scene, { collection, id: invalid.id, fields: { price: 7 } });
      return invalid.id;
    },
  },
  {
    name: 'moves',
    weight: 3,
    run: change(({ random, api }, collection) => {
      const parents = api.records.all('parents').map(({ id }) => id);
      return collection === 'children' && parents.length > 0 ? { parent: random.pick(parents) } : null;
    }),
  },
  {
    name: 'region',
    weight: 2,
    run: change(({ random }, collection) => (collection === 'items' ? null : { region: random.pick(regions) })),
  },
];
