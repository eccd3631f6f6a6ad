/** The code of an error, such as `ENOENT` of the operating system or `42P01` of PostgreSQL; empty if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean => codes.includes(codeOf(error));
