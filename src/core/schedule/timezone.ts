const charactersMax = 100;

/** The name of an IANA zone in a server's time zone database; `null` for other texts, offsets and the machine's own zone. */
export function resolveTimezone(name: string): string | null {
  if (!/^[A-Za-z]/.test(name) || name.length > charactersMax) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}
