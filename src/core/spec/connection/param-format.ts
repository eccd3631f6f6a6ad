import type { ConnectionParam } from '../schema/param-schema.ts';

type ParamFormat = NonNullable<ConnectionParam['format']>;

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const instant =
  /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const hostname = new RegExp(`^${label}(?:\\.${label})*$`);
/** One label without a dot, so it cannot leave the domain that the spec appends. */
const subdomain = new RegExp(`^${label}$`);
const email = /^[^\s@"<>]{1,64}@[^\s@"<>]{1,253}$/;

/** Whether a text has the format; every check takes linear time. */
export const hasFormat = (format: ParamFormat, text: string): boolean => checks[format](text);

/** The words after “expected”. */
export const formatWords: Readonly<Record<ParamFormat, string>> = {
  date: 'a date such as 2026-01-31',
  'date-time': 'a time such as 2026-01-31T08:30:00Z',
  email: 'an email address',
  uuid: 'a UUID',
  hostname: 'a host name such as db.acme.example',
  subdomain: 'one label of a host name, such as acme',
};

const checks: Readonly<Record<ParamFormat, (text: string) => boolean>> = {
  date: isDate,
  'date-time': (text) => isDate(instant.exec(text)?.[1] ?? ''),
  email: (text) => email.test(text) && hostname.test(text.slice(text.indexOf('@') + 1)),
  uuid: (text) => uuid.test(text),
  hostname: (text) => text.length <= 253 && hostname.test(text),
  subdomain: (text) => subdomain.test(text),
};

/** A day that exists: 2026-02-30 does not. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
