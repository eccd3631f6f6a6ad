import type { ColumnType } from '../../spec/schema/column-type.ts';

/** The largest n of varchar(n). */
const varcharLengthMax = 10_485_760;

/** The spec has validated the numbers, so nothing here needs quoting. */
export function postgresType(type: ColumnType): string {
  switch (type.kind) {
    case 'text': {
      const { maxLength } = type;
      return maxLength !== undefined && maxLength >= 1 && maxLength <= varcharLengthMax
        ? `varchar(${maxLength})`
        : 'text';
    }
    case 'numeric':
      return `numeric(${type.precision},${type.scale})`;
    case 'float':
      return 'double precision';
    case 'json':
      return 'jsonb';
    case 'integer':
    case 'bigint':
    case 'boolean':
    case 'timestamptz':
    case 'date':
    case 'uuid':
      return type.kind;
  }
}
