const parts =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)? ?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/**
 * A valid date-time (see `timestampIssue`) in UTC without an offset: `2026-03-28T20:00:00.1234560`; `null` beyond the years 1 to
 * 9999. Further decimals are cut. A second 60 becomes the next minute.
 */
export function utcText(text: string): string | null {
  const [, day, hour = '00', minute = '00', second = '00', fraction = '', sign, offsetHour = '0', offsetMinute = '0'] =
    parts.exec(text) ?? [];
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  const moment = Date.parse(`${day}T${hour}:${minute}:00Z`) + Number(second) * 1000 - offsetMinutes * 60_000;
  const utc = new Date(moment).toISOString();
  const isInRange = /^\d{4}-/.test(utc) && !utc.startsWith('0000');
  return isInRange ? `${utc.slice(0, 19)}.${fraction.slice(0, 7).padEnd(7, '0')}` : null;
}
