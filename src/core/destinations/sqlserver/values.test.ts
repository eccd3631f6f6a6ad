import { describe, expect, it } from 'vitest';
import { formFor, isConvertible } from './values.ts';

const typed = (
  typeName: string,
  facts: { length?: number; precision?: number; scale?: number; isJson?: boolean; collation?: string } = {},
) => formFor({ typeName, length: -1, precision: 0, scale: 0, isJson: false, collation: null, ...facts });

const decimal = (precision: number, scale: number) => typed('decimal', { precision, scale });

describe('values', () => {
  it.each([
    [decimal(18, 4), '12345678901234.5678', '12345678901234.5678'],
    [decimal(18, 4), 0.1, '0.1000'],
    [decimal(18, 4), '-1.00005', '-1.0001'],
    [decimal(18, 4), '1.00004999', '1.0000'],
    [decimal(18, 4), '1.5e3', '1500.0000'],
    [decimal(18, 4), '-25E-5', '-0.0003'],
    [decimal(18, 4), '+.5', '0.5000'],
    [decimal(38, 0), '9'.repeat(38), '9'.repeat(38)],
    [decimal(38, 10), '1e-300', '0.0000000000'],
    [decimal(4, 4), '0.99994', '0.9999'],
    [typed('bigint'), '9007199254740993', '9007199254740993'],
    [typed('tinyint'), 255, '255'],
    [typed('bit'), true, '1'],
    [typed('bit'), false, '0'],
    [typed('nvarchar'), 'a\0b', 'ab'],
    [typed('nvarchar', { isJson: true }), { a: ['é'] }, '{"a":["é"]}'],
    [typed('nvarchar', { isJson: true }), 'text', '"text"'],
    [typed('varchar', { length: 3 }), 'abc', 'abc'],
    [typed('datetimeoffset'), '2026-03-29T01:30:00+05:30', '2026-03-28T20:00:00.0000000+00:00'],
    [typed('datetime2'), '2026-03-29T01:30:00+05:30', '2026-03-28T20:00:00.0000000'],
    [typed('uniqueidentifier'), '0190b2b47c3f7abc8def0123456789ab', '0190b2b4-7c3f-7abc-8def-0123456789ab'],
    [typed('float'), '1e308', '1e308'],
    [typed('money'), '1.5', '1.5'],
    [typed('bigint'), null, null],
  ])('%# become the text that is cast: %o %o', ({ toCell }, value, text) => {
    expect(toCell(value)).toBe(text);
  });

  it.each([
    [decimal(18, 4), '123456789012345', 'has more than 14 digits before the point'],
    [decimal(18, 4), '99999999999999.99999', 'has more than 14 digits before the point'],
    [decimal(4, 4), '1', 'has more than 0 digits before the point'],
    [decimal(18, 4), 'x', 'is not a number'],
    [typed('tinyint'), -1, 'is out of the range of its column'],
    [typed('float'), 5e-324, 'is out of range'],
    [typed('nvarchar', { length: 3 }), '👍👍', expect.stringContaining('the 3 characters')],
    [typed('nvarchar'), { a: 1 }, 'is of type object, not a text'],
    [typed('varchar'), 'é', 'has characters that its varchar column may not hold; make it nvarchar'],
    [typed('bit'), 'yes', 'is of type string, not a boolean'],
    [typed('datetimeoffset'), '0001-01-01T00:00:00+01:00', 'is out of the range of its column'],
  ])('%# that do not fit are refused: %o %o', ({ toCell }, value, misfit) => {
    expect(toCell(value)).toEqual({ misfit });
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'of a type that is called %s are left to the server',
    (typeName) => {
      expect(isConvertible(typeName)).toBe(false);
      expect(typed(typeName)).toMatchObject({ castType: typeName, staged: Infinity });
      expect(typed(typeName).toCell('x')).toBe('x');
    },
  );

  it('are cast without a length, so that the server refuses what is too long instead of cutting it', () => {
    expect(typed('nvarchar', { length: 3 })).toMatchObject({ castType: null, staged: 3 });
    expect(typed('xml')).toMatchObject({ castType: 'xml', staged: Infinity });
  });

  it.each([
    ['binary', { length: 16 }, 16],
    ['varbinary', { length: 200 }, 200],
    ['varbinary', { length: -1 }, -1],
    ['image', { length: 16 }, -1],
  ])(
    'of %s %o are cast at any length, which the server then compares with that of the column',
    (name, facts, bytes) => {
      const serverCheck = { kind: 'cast', typeName: name, bytes };
      expect(typed(name, facts)).toMatchObject({ castType: 'varbinary(max)', staged: Infinity, serverCheck });
    },
  );

  it('of a code page are left to the server as soon as it is known which one', () => {
    const form = typed('varchar', { length: 6, collation: 'Latin1_General_CI_AS' });
    expect(form.toCell('Müller')).toBe('Müller');
    expect(form.serverCheck).toEqual({ kind: 'codePage', collation: 'Latin1_General_CI_AS', bytes: 6 });
    expect(form.toCell('Müller-')).toEqual({ misfit: expect.stringContaining('the 6 characters') });
    expect(typed('varchar', { length: 8000, collation: 'Latin1_General_CI_AS' }).staged).toBe(Infinity);
  });

  it('of sql_variant are staged in the longest text that can become one', () => {
    expect(typed('sql_variant')).toMatchObject({ castType: 'sql_variant', staged: 4000 });
    expect(typed('sql_variant').toCell('x'.repeat(4001))).toHaveProperty('misfit');
  });
});
