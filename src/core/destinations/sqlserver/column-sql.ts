import type { ColumnType } from '../../spec/schema/column-type.ts';

/** The largest n of nvarchar(n). */
const nvarcharLengthMax = 4000;

/** The spec has validated the numbers, so nothing here needs quoting. */
export function sqlServerType(type: ColumnType): string {
  switch (type.kind) {
    case 'text': {
      const { maxLength } = type;
      const isBounded = maxLength !== undefined && maxLength >= 1 && maxLength <= nvarcharLengthMax;
      return `nvarchar(${isBounded ? maxLength : 'max'})`;
    }
    case 'numeric':
      return `decimal(${type.precision},${type.scale})`;
    case 'integer':
      return 'int';
    case 'bigint':
      return 'bigint';
    case 'float':
      return 'float(53)';
    case 'boolean':
      return 'bit';
    case 'timestamptz':
      return 'datetimeoffset(7)';
    case 'date':
      return 'date';
    case 'uuid':
      return 'uniqueidentifier';
    case 'json':
      return 'nvarchar(max)';
  }
}
