const charactersMax = 100;

/**
 * The name under which the time zone database of a server finds the zone; null: not a zone of the IANA database. An
 * offset is none, and neither is the machine's own zone.
 */
export function resolveTimezone(name: string): string | null {
  if (!/^[A-Za-z]/.test(name) || name.length > charactersMax) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}
