import { expect, it } from 'vitest';
import { checkLayers } from './check-layers.ts';
import { treeOf } from './tree-fixture.ts';

it('an import of a layer below is allowed', () => {
  const files = { 'src/core/run/a.ts': "import { b } from '../json/b.ts';\n", 'src/core/json/b.ts': '' };
  expect(checkLayers(treeOf(files))).toEqual([]);
});

it.each([
  ['value', "import { b } from '../run/b.ts';\n"],
  ['type', "import type {\n  B,\n} from '../run/b.ts';\n"],
  ['re-exported', "export { b } from '../run/b.ts';\n"],
])('an import of a layer above is found: a %s', (_, text) => {
  const files = { 'src/core/json/a.ts': text, 'src/core/run/b.ts': '' };
  expect(checkLayers(treeOf(files))).toEqual(['src/core/json/a.ts imports src/core/run/b.ts of a layer above it.']);
});

it('an import of a layer above is found among the queries of runs, by the files of the folder itself too', () => {
  const files = {
    'db/queries/runs/a.ts': "import { b } from './lanes/b.ts';\n",
    'db/queries/runs/lanes/b.ts': "import { c } from '../batches/c.ts';\n",
    'db/queries/runs/batches/c.ts': '',
  };
  const issue = 'db/queries/runs/a.ts imports db/queries/runs/lanes/b.ts of a layer above it.';
  expect(checkLayers(treeOf(files))).toEqual([issue]);
});

it.each(['db', 'test/support', 'bench', 'scripts'])(
  'files that import each other over a third are found in %s',
  (folder) => {
    const files = {
      [`${folder}/a.ts`]: "import type { B } from './b.ts';\n",
      [`${folder}/b.ts`]: "import type { C } from './c.ts';\n",
      [`${folder}/c.ts`]: "import type { A } from './a.ts';\n",
    };
    expect(checkLayers(treeOf(files))).toEqual([expect.stringMatching(/^These files import each other: /)]);
  },
);

it('a room without a layer is reported by name', () => {
  const files = { 'src/core/attic/a.ts': "import { b } from '../json/b.ts';\n", 'src/core/json/b.ts': '' };
  expect(() => checkLayers(treeOf(files))).toThrow('src/core/attic has no layer');
});

it.each([
  ['src/core/a.ts', 'src/temporal/orchestrator.ts'],
  ['src/core/a.ts', 'src/deps.ts'],
  ['db/a.ts', 'src/temporal/orchestrator.ts'],
  ['src/control/a.ts', 'src/api/errors.ts'],
  ['src/control/a.ts', 'src/console/console.ts'],
  ['src/api/a.ts', 'src/console/console.ts'],
  ['src/core/a.ts', 'test/support/a.ts'],
])('an import of a room that the table does not allow is found: %s -> %s', (file, target) => {
  const path = `${'../'.repeat(file.split('/').length - 1)}${target}`;
  const forms = [`import { b } from '${path}';`, `import '${path}';`, `const { b } = await import('${path}');`];
  for (const text of forms) {
    const issues = checkLayers(treeOf({ [file]: `${text}\n`, [target]: '' }));
    expect(issues).toEqual([expect.stringContaining(`${file} imports ${target}: `)]);
  }
});

it('an import of a room that the table allows is no issue, and a process may import everything', () => {
  const files = {
    'src/control/a.ts': "import { b } from '../../db/b.ts';\n",
    'db/b.ts': "import { a } from '../src/core/a.ts';\n",
    'src/core/a.ts': "import about from '../../package.json' with { type: 'json' };\n",
    'src/worker.ts': "import { a } from './control/a.ts';\n",
  };
  expect(checkLayers(treeOf(files))).toEqual([]);
});

it('a room of the service without a row in the table is reported by name', () => {
  expect(() => checkLayers(treeOf({ 'src/attic/a.ts': "import { b } from '../core/b.ts';\n" }))).toThrow(
    'src/attic has no row',
  );
});
