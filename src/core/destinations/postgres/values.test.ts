import { expect, it } from 'vitest';
import { isConvertible, toTextFor } from './values.ts';

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'values of a type that is called %s are left to the server',
  (typeName) => {
    expect(isConvertible(typeName)).toBe(false);
    expect(toTextFor({ typeName, modifier: -1 })('x')).toBe('x');
  },
);

it.each(['text', 'varchar', 'bpchar', 'citext'])('a value of %s is a text that PostgreSQL has', (typeName) => {
  const textOf = toTextFor({ typeName, modifier: -1 });
  expect(['a\0b', '\0', 'é', 'x\ud83d'].map(textOf)).toEqual(['ab', '', 'é', 'x\ufffd']);
});
