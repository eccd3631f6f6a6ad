/** Whether the error has one of these codes, for example `ENOENT` of the operating system or `42P01` of PostgreSQL. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
