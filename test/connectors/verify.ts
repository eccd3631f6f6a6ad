/**
 * `npm run verify-connectors -- kinto stripe …`: runs connectors of the catalogue against what is to be had of their
 * vendors, and writes the outcome into `connectors/<key>`. It downloads servers and descriptions, so it is no test.
 */
import { openCatalogue } from '../../src/catalogue/catalogue.ts';
import setup from '../support/service/setup.ts';
import { compareWithDescription } from './descriptions/compare.ts';
import { descriptions } from './descriptions/descriptions.ts';
import { type Figures, table } from './figures.ts';
import { writeVerification } from './report.ts';
import { servers } from './servers/servers.ts';
import { syncServer } from './sync-server.ts';

const known = new Set([...Object.keys(servers), ...Object.keys(descriptions)]);
const wanted = process.argv.slice(2);
if (wanted.length === 0) {
  process.stdout.write(`Name connectors, or "all": ${[...known].toSorted().join(', ')}\n`);
  process.exit(1);
}
const catalogue = openCatalogue();
const teardown = await setup();
const rows: Figures[] = [];
try {
  for (const key of wanted.includes('all') ? [...known].toSorted() : wanted) await verify(key);
} finally {
  await teardown();
}
process.stdout.write(`${table(rows)}\n`);
process.exit(process.exitCode ?? 0);

/** Reports a connector that differs from its vendor's description or server, and goes on with the next. */
async function verify(key: string): Promise<void> {
  const connector = await catalogue.find(key);
  const server = servers[key];
  const description = descriptions[key];
  if (!connector || (!server && !description)) throw new Error(`Nothing is known to verify ${key} against`);
  try {
    const compared = description ? await compareWithDescription(connector, description) : null;
    const synced = server ? await syncServer(connector, server) : null;
    await writeVerification(connector, { compared, synced });
    rows.push({ key, compared, synced });
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(`${key}: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
