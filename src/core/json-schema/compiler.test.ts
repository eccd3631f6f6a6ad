import { fullFormats } from 'ajv-formats/dist/formats.js';
import { expect, test } from 'vitest';
import { chanceOf } from '../../../test/support/expressions/generated-expressions.ts';
import { createSchemaCompiler } from './compiler.ts';
import { prepareSchema } from './document.ts';

const chance = chanceOf(11);
const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item;
const someOf = <Item>(items: readonly Item[], share: number): Item[] => items.filter(() => chance() < share);
const upTo = (most: number): number => Math.floor(chance() * (most + 1));

const names = ['id', 'name', 'a', 'b', '0'];
const inherited = ['toString', 'valueOf', 'constructor', 'hasOwnProperty', '__proto__', 'isPrototypeOf'];

/** Everything that asks a record for its properties. */
const keywords: Readonly<Record<string, (depth: number) => unknown>> = {
  properties: (depth) => Object.fromEntries(someOf(names, 0.5).map((name) => [name, schemaOf(depth - 1)])),
  patternProperties: (depth) => ({ [oneOf(['^x', 'S', 'o', '_'])]: schemaOf(depth - 1) }),
  additionalProperties: (depth) => schemaOf(depth - 1),
  unevaluatedProperties: (depth) => schemaOf(depth - 1),
  propertyNames: () => oneOf([{ maxLength: 5 }, { pattern: '^[a-z0]' }, { enum: names }]),
  required: () => someOf(names, 0.3),
  dependentRequired: () => ({ [oneOf(names)]: someOf(names, 0.4) }),
  dependentSchemas: (depth) => ({ [oneOf(names)]: schemaOf(depth - 1) }),
  dependencies: (depth) => ({ [oneOf(names)]: oneOf([someOf(names, 0.4), schemaOf(depth - 1)]) }),
  minProperties: () => upTo(2),
  maxProperties: () => 2 + upTo(3),
  type: () => oneOf(['object', 'string', 'integer', ['object', 'null'], ['string', 'number']]),
  enum: () => ['text', ...someOf([null, true, 1, ''], 0.5)],
  const: () => oneOf([1, 'text']),
  items: (depth) => schemaOf(depth - 1),
  allOf: (depth) => [schemaOf(depth - 1), schemaOf(depth - 1)],
  anyOf: (depth) => [schemaOf(depth - 1), schemaOf(depth - 1)],
  oneOf: (depth) => [schemaOf(depth - 1), schemaOf(depth - 1)],
  not: (depth) => schemaOf(depth - 1),
};
const laterKeywords = new Set(['unevaluatedProperties', 'dependentRequired', 'dependentSchemas']);

let draft: '7' | '2020' = '2020';

function schemaOf(depth: number): unknown {
  if (depth < 1) return oneOf<unknown>([true, false, { type: 'string' }, { type: 'integer' }, {}]);
  const chosen = someOf(Object.keys(keywords), 0.15).filter(
    (keyword) => draft === '2020' || !laterKeywords.has(keyword),
  );
  const entries = chosen.map((keyword) => [keyword, keywords[keyword]?.(depth)] as const);
  if (chance() < 0.2) entries.push(['if', schemaOf(depth - 1)], [oneOf(['then', 'else']), schemaOf(depth - 1)]);
  return Object.fromEntries(entries);
}

const values = [null, true, 0, 1, 1.5, '', 'text', '9007199254740993'];

function recordOf(depth: number): unknown {
  if (depth < 1 || chance() < 0.2) return oneOf<unknown>([...values, undefined]);
  if (chance() < 0.15) return Array.from({ length: upTo(2) }, () => recordOf(depth - 1));
  const record: object = chance() < 0.5 ? {} : Object.create(null);
  for (const name of [...someOf(names, 0.5), ...someOf(inherited, 0.1), ...someOf(['xy', 'other'], 0.2)]) {
    // Defined, as "__proto__" must be data.
    const value = recordOf(depth - 1);
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
}

test.each(['2020', '7'] as const)('own properties need no look where no inherited name is meant (draft %s)', (of) => {
  draft = of;
  const options = { draft, allErrors: false, budget: { left: Infinity, sizeLeft: Infinity } };
  const careful = createSchemaCompiler({ ...options, ownProperties: true });
  const plain = createSchemaCompiler({ ...options, ownProperties: false });
  const seen = { valid: 0, invalid: 0 };
  for (let no = 0; no < 100; no += 1) {
    const document = schemaOf(3);
    const { schema, namesInherited } = prepareSchema(document, { bigIntegers: true });
    expect(namesInherited).toBe(false);
    const isValid = careful.compile(schema);
    const isValidPlain = plain.compile(schema);
    for (let count = 0; count < 40; count += 1) {
      const record = recordOf(3);
      const response = { valid: isValid(record), errors: isValid.errors };
      expect({ document, record, valid: isValidPlain(record), errors: isValidPlain.errors }).toEqual({
        document,
        record,
        ...response,
      });
      seen[response.valid ? 'valid' : 'invalid'] += 1;
    }
  }
  // Both are common, or the test would prove little.
  expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(500);
});

test.each([
  [{ required: ['toString'] }, false],
  [{ properties: { valueOf: { type: 'string' } } }, true],
  [{ dependentRequired: { toString: ['a'] } }, true],
  [{ dependentSchemas: { toString: false } }, true],
  [{ dependencies: { toString: ['a'] } }, true],
  [{ dependentRequired: { a: ['hasOwnProperty'] } }, true],
  [{ items: { anyOf: [{ required: ['isPrototypeOf'] }, { not: {} }] } }, true],
  [{ $ref: '#/$defs/b', $defs: { b: { if: { required: ['toLocaleString'] }, else: false } } }, false],
  [{ enum: ['constructor', {}] }, true],
])('an inherited name is found wherever the schema %j has it', (document, valid) => {
  const { schema, namesInherited } = prepareSchema(document, { bigIntegers: true });
  expect(namesInherited).toBe(true);
  const options = { draft: '2020', allErrors: false, budget: { left: Infinity, sizeLeft: Infinity } } as const;
  expect(createSchemaCompiler({ ...options, ownProperties: true }).compile(schema)({})).toBe(valid);
});

test.each(['date', 'date-time'] as const)('a %s is what the full check says', (format) => {
  const { validate } = fullFormats[format] as { readonly validate: (text: string) => boolean };
  const compiler = createSchemaCompiler({
    draft: '2020',
    allErrors: false,
    ownProperties: true,
    budget: { left: Infinity, sizeLeft: Infinity },
  });
  const isValid = compiler.compile({ format });
  const wrong = textsOf(format).filter((text) => isValid(text) !== validate(text));
  expect(wrong).toEqual([]);
});

function textsOf(format: 'date' | 'date-time'): readonly string[] {
  const pad = (part: number): string => String(part).padStart(2, '0');
  const dates = ['0000', '0999', '1000', '1900', '2000', '2024', '2026', '9999', '10000'].flatMap((year) =>
    Array.from({ length: 14 * 33 }, (_, day) => `${year}-${pad(day % 14)}-${pad(Math.floor(day / 14))}`),
  );
  const around = ['', ' 2026-01-01', '2026-01-01\n', '2026-1-1', '20260101', '２０２６-01-01'];
  if (format === 'date') return [...dates, ...around];
  const zones = ['', 'Z', 'z', '+00:00', '-23:59', '+24:00', '+01:60', '+0100', '+01', '\n', 'Z\n', 'Z '];
  const ends = ['', '.', '.1', '.123456', '.1234567890', ',5'].flatMap((decimals) =>
    zones.map((zone) => decimals + zone),
  );
  const clocks = ['00:00:00', '23:59:59', '23:59:60', '24:00:00', '12:60:00', '12:00:61', '12:00', '1:00:00'];
  const days = ['2026-01-01', '2026-02-29', '2024-02-29'];
  return [
    ...dates.map((date) => `${date}T12:00:00+02:00`),
    ...days.flatMap((day) =>
      ['T', 't', ' ', ''].flatMap((sign) => clocks.flatMap((clock) => ends.map((end) => day + sign + clock + end))),
    ),
  ];
}
