import { pipeline } from 'node:stream/promises';
import type { CsvError, Options } from 'csv-parse';
import { AppError } from '../../errors.ts';
import { nextSlice } from '../../work/slices.ts';
import { pageRecordsMax, tooManyRecords } from '../read/page-size.ts';

/**
 * The rows (RFC 4180) as objects with the names of the header row; every value is a string, and empty lines are
 * skipped. The delimiter is a comma, unless the header row has none outside quotes but has a semicolon or else a tab.
 * `null` without a header row, which is not an empty list.
 *
 * Throws `source_rejected` for a web page, a row that does not fit (with its line), and a repeated name, never with a
 * value.
 */
export async function decodeCsv(text: string): Promise<readonly unknown[] | null> {
  const { CsvError, parse } = await import('csv-parse');
  if (pageStart.test(text.slice(0, 1000))) throw webPage();
  const rows: unknown[] = [];
  let names: readonly string[] | null = null;
  const takeRow = (row: readonly string[]): null => {
    if (names === null) names = checkHeader(row);
    else if (rows.length === pageRecordsMax) throw tooManyRecords();
    else if (rows.length * names.length > cellsMax) throw tooManyFields();
    else rows.push(Object.fromEntries(names.map((name, index) => [name, row[index]])));
    return null;
  };
  const form: Options = { delimiter: delimiterOf(text), record_delimiter: lineEnds, skip_empty_lines: true };
  try {
    await pipeline(slices(text), parse({ ...form, on_record: takeRow }).resume());
  } catch (error) {
    throw error instanceof CsvError ? badRow(error) : error;
  }
  return names === null ? null : rows;
}

/** Start of a web page, which CSV parsers take for rows. */
const pageStart = /^\uFEFF?\s*<(?:!doctype|!--|html|head|body|\?xml)\b/i;

const webPage = (): AppError =>
  new AppError(
    'source_rejected',
    'The API sent a web page instead of CSV, perhaps its login. Check the credentials and the address in the spec.',
  );

/** Lets other work run between slices, which take some ms each. */
async function* slices(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    if (start > 0) await nextSlice();
    yield bytes.subarray(start, start + sliceBytes);
  }
}

const sliceBytes = 65_536;

const lineEnds = ['\r\n', '\n', '\r'];

/** Six times the limit of PostgreSQL. */
const columnsMax = 10_000;

const headerMax = 100_000;

const cellsMax = 5_000_000;

export const csvFieldBytes = 50;

/** Counts quoted fields with delimiters too often. */
export function countFields(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if (byte === 0x2c || byte === 0x3b || byte === 0x09 || byte === 0x0a) count += 1;
  return count;
}

/** A quoted name in the header row may contain delimiters and line ends. */
function delimiterOf(text: string): string {
  const header = /^[\r\n]*((?:"[^"]*"|[^"\r\n])*)/.exec(text.slice(0, headerMax))?.[1] ?? '';
  const unquoted = header.replace(/"[^"]*"/g, '');
  return [',', ';', '\t'].find((delimiter) => unquoted.includes(delimiter)) ?? ',';
}

function checkHeader(row: readonly string[]): readonly string[] {
  if (row.length > columnsMax) throw refused(`has more than ${columnsMax} columns`, 'Check the decoder.');
  const columns = new Map<string, number>();
  for (const [index, name] of row.entries()) {
    const earlier = columns.get(name);
    const what = `has the same name in columns ${(earlier ?? 0) + 1} and ${index + 1} of its header row`;
    if (earlier !== undefined) throw refused(what, 'Ask the API for columns with different names.');
    columns.set(name, index);
  }
  return row;
}

/** Without a cause: the parser's own error quotes the row. */
function badRow({ code, lines }: CsvError): AppError {
  const line = `line ${Number(lines)}`;
  if (code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH') {
    return refused(`has a row with more or fewer fields than the header row, ending on ${line}`, fieldAdvice);
  }
  return refused(`has a quote in the wrong place on ${line}`, fieldAdvice);
}

const fieldAdvice = 'Fields that hold a delimiter, a quote or a line end must be in quotes, quotes in them doubled.';

const tooManyFields = (): AppError => refused(`has more than ${cellsMax} fields`, 'Ask for smaller pages.');

const refused = (what: string, advice: string): AppError =>
  new AppError('source_rejected', `The CSV body ${what}. ${advice}`);
