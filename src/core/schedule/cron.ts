import { type CronExpression, CronExpressionParser } from 'cron-parser';
import { type Calendar, type CronFields, toCalendars } from './calendars.ts';
import { firesEver } from './firing-gaps.ts';

/** The firings of an expression as a union of calendars, or the issue with it. */
export type CronCheck =
  | { readonly calendars: readonly Calendar[]; readonly issue: null }
  | { readonly calendars: null; readonly issue: string };

interface FieldForm {
  readonly name: string;
  readonly values: string;
}

const second: FieldForm = { name: 'second', values: '0 to 59' };
const fieldForms: readonly FieldForm[] = [
  { name: 'minute', values: '0 to 59' },
  { name: 'hour', values: '0 to 23' },
  { name: 'day of month', values: '1 to 31 or L' },
  { name: 'month', values: '1 to 12 or JAN to DEC' },
  { name: 'day of week', values: '0 to 7 or SUN to SAT, also 5L and 1#2' },
];

const charactersMax = 1024;
/** Characters and names of cron, without `H`, whose values the parser draws at random. */
const known = /^(?:[\d*?,/#-]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT|L)+$/i;
/** The parser reads `MONTUE` as 12. */
const joinedNames = /[A-Za-z]{4,}/;

/**
 * Checks a cron expression of 5 fields, or 6 with seconds first; refuses fewer fields, `@hourly` and `H`, which the
 * parser knows. The issue names the field and never repeats the text.
 */
export function checkCron(text: string): CronCheck {
  const fields = text.trim().split(/\s+/);
  if (text.length > charactersMax) return failing(`has more than ${charactersMax} characters`);
  if (fields.length !== 5 && fields.length !== 6) {
    return failing('expected 5 fields (minute, hour, day of month, month, day of week), or 6 with the second first');
  }
  const forms = fields.length === 6 ? [second, ...fieldForms] : fieldForms;
  const wrong = forms.find((_, index) => !isField(fields, index));
  if (wrong) {
    const form = `${wrong.values}, none twice, with , - * / between them`;
    return failing(`the field of the ${wrong.name} is not valid: ${form}`);
  }
  const expression = parsed(fields);
  const calendars = expression ? toCalendars(fieldsOf(expression)) : [];
  if (!firesEver(calendars)) return failing('never fires: no month that it names has such a day');
  return { calendars, issue: null };
}

const failing = (issue: string): CronCheck => ({ calendars: null, issue });

/** Whether a field is valid by itself, regardless of the others. */
function isField(fields: readonly string[], index: number): boolean {
  const field = fields[index] ?? '';
  if (!known.test(field) || joinedNames.test(field)) return false;
  return parsed(fields.map((_, at) => (at === index ? field : '*'))) !== null;
}

function parsed(fields: readonly string[]): CronExpression | null {
  try {
    return CronExpressionParser.parse(fields.join(' '));
  } catch {
    return null;
  }
}

/** Normalized fields: 7 is Sunday, `5L` is text. */
function fieldsOf({ fields }: CronExpression): CronFields {
  const { second: seconds, minute, hour, dayOfMonth, month, dayOfWeek } = fields;
  return {
    second: numbers(seconds.values),
    minute: numbers(minute.values),
    hour: numbers(hour.values),
    month: numbers(month.values),
    dayOfMonth: dayOfMonth.isWildcard
      ? null
      : { days: numbers(dayOfMonth.values), last: dayOfMonth.values.includes('L') },
    dayOfWeek: dayOfWeek.isWildcard
      ? null
      : {
          days: numbers(dayOfWeek.values).map((day) => day % 7),
          nth: dayOfWeek.nthDay,
          last: dayOfWeek.values.flatMap((day) => (typeof day === 'string' ? [Number.parseInt(day, 10) % 7] : [])),
        },
  };
}

const numbers = (values: readonly (number | string)[]): number[] =>
  values.filter((value): value is number => typeof value === 'number');
