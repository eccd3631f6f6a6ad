import { expect, it } from 'vitest';
import { checkDoors } from './check-doors.ts';
import { treeOf } from './tree-fixture.ts';

const rooms = { 'src/core/run': ['engine'] };
const headed = '/** Runs. */\n\nexport const engine = 1;\n';

it.each([
  ['its front door', 'src/api/a.ts', "import { engine } from '../core/run/engine.ts';\n"],
  ['another file of its own room', 'src/core/run/a.ts', "import { b } from './inside.ts';\n"],
  ['the inside of an open room', 'src/api/a.ts', "import { c } from '../core/json/c.ts';\n"],
])('a file may import %s', (_, file, text) => {
  expect(checkDoors(treeOf({ 'src/core/run/engine.ts': headed, [file]: text }), rooms)).toEqual([]);
});

it('the inside of a room is no import of others, types included', () => {
  const files = {
    'src/core/run/engine.ts': headed,
    'src/api/a.ts': "import type { B } from '../core/run/inside.ts';\n",
  };
  expect(checkDoors(treeOf(files), rooms)).toEqual([
    'src/api/a.ts imports src/core/run/inside.ts, which is no door of src/core/run.',
  ]);
});

it('a front door begins with what the room is for, and a door exists', () => {
  const files = { 'src/core/run/engine.ts': '/** A number. */\nexport const engine = 1;\n' };
  expect(checkDoors(treeOf(files), { 'src/core/run': ['engine', 'other'] })).toEqual([
    'src/core/run has no other.ts.',
    'src/core/run/engine.ts does not begin with what the room is for.',
  ]);
});
