/** Process: `npm run migrate`. Applies the missing migrations; safe to run several times at once. */
import { migrateToLatest } from '../db/migrate.ts';
import './process/parent-watch.ts';
import { printError } from './admin/explain-error.ts';
import { configOrExit, endOnUncaught } from './process/entry.ts';

endOnUncaught({ error: (_message, fields) => printError(fields?.['error']) });
const { databaseUrl } = configOrExit(process.env);
if (databaseUrl === null) {
  process.stderr.write(
    'DATABASE_URL is not set: nothing to migrate. `npm start` migrates its embedded database itself.\n',
  );
  process.exit(1);
}
try {
  const { applied } = await migrateToLatest(databaseUrl);
  process.stdout.write(
    applied.length > 0 ? `applied:\n${applied.map((name) => `  ${name}\n`).join('')}` : 'nothing to apply\n',
  );
} catch (error) {
  printError(error);
  process.exitCode = 1;
}
