/** Starts an empty PostgreSQL server for deploy/verify.sh, prints its URL, and stops on SIGTERM. */
import { startScratchDatabase } from '../../src/dev/embedded/scratch-database.ts';

const stopping = Promise.withResolvers<void>();
process.once('SIGTERM', () => stopping.resolve());
await using database = await startScratchDatabase();
process.stdout.write(`${database.url}\n`);
await stopping.promise;
