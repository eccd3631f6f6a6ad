/** The PostgreSQL server of the test run, as its superuser. */
export function testDatabaseUrl(): URL {
  const url = process.env['TEST_DATABASE_URL'];
  if (!url) throw new Error('TEST_DATABASE_URL is not set: postgres://user:password@127.0.0.1:port/postgres');
  return new URL(url);
}
