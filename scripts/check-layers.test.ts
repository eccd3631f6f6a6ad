import { expect, it } from 'vitest';
import { checkLayers } from './check-layers.ts';
import { treeOf } from './tree-fixture.ts';

it('an import of a floor below is allowed', () => {
  const files = { 'src/core/run/a.ts': "import { b } from '../json/b.ts';\n", 'src/core/json/b.ts': '' };
  expect(checkLayers(treeOf(files))).toEqual([]);
});

it.each([
  ['value', "import { b } from '../run/b.ts';\n"],
  ['type', "import type {\n  B,\n} from '../run/b.ts';\n"],
  ['re-exported', "export { b } from '../run/b.ts';\n"],
])('an import of a floor above is found: a %s', (_, text) => {
  const files = { 'src/core/json/a.ts': text, 'src/core/run/b.ts': '' };
  expect(checkLayers(treeOf(files))).toEqual(['src/core/json/a.ts imports src/core/run/b.ts of a floor above it.']);
});

it('an import of a floor above is found among the queries of runs, by the files of the folder itself too', () => {
  const files = {
    'db/queries/runs/a.ts': "import { b } from './lanes/b.ts';\n",
    'db/queries/runs/lanes/b.ts': "import { c } from '../batches/c.ts';\n",
    'db/queries/runs/batches/c.ts': '',
  };
  const issue = 'db/queries/runs/a.ts imports db/queries/runs/lanes/b.ts of a floor above it.';
  expect(checkLayers(treeOf(files))).toEqual([issue]);
});

it('files that import each other over a third are found', () => {
  const files = {
    'db/a.ts': "import type { B } from './b.ts';\n",
    'db/b.ts': "import type { C } from './c.ts';\n",
    'db/c.ts': "import type { A } from './a.ts';\n",
  };
  expect(checkLayers(treeOf(files))).toEqual([expect.stringMatching(/^These files import each other: /)]);
});

it('a room without a floor is reported by name', () => {
  const files = { 'src/core/attic/a.ts': "import { b } from '../json/b.ts';\n", 'src/core/json/b.ts': '' };
  expect(() => checkLayers(treeOf(files))).toThrow('src/core/attic has no floor');
});
