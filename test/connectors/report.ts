import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { Verification } from '../../src/catalogue/catalogue.ts';
import type { CatalogueConnector } from '../../src/core/resources/catalogue.ts';
import { type Compared, countsOf, type Figures, type Synced } from './figures.ts';

/** Writes `verified.yaml` of a connector and the section of its page that says the same. */
export async function writeVerification(
  { key }: Pick<CatalogueConnector, 'key'>,
  figures: Omit<Figures, 'key'>,
): Promise<void> {
  const folder = new URL(`../../connectors/${key}/`, import.meta.url);
  const verification = verificationOf(figures);
  const text = `# Written by \`npm run verify-connectors -- ${key}\`.\n${stringify(verification, { lineWidth: 0 })}`;
  await writeFile(new URL('verified.yaml', folder), text);
  const page = new URL('README.md', folder);
  const [before = ''] = (await readFile(page, 'utf8')).split('## Verified against\n');
  await writeFile(page, `${before}## Verified against\n\n${verification.statement}\n`);
}

function verificationOf({ compared, synced }: Omit<Figures, 'key'>): Verification {
  const statement = [...(synced ? [syncWords(synced)] : []), ...(compared ? [comparedWords(compared)] : [])].join(' ');
  const on = new Date().toISOString().slice(0, 10);
  if (synced === null)
    return { kind: 'description', on, statement: `${statement} Nobody has run it against the vendor.` };
  return { kind: isReal(synced) ? 'server' : 'description', on, statement, recordsSynced: sum(synced, 'records') };
}

/** A server whose records never change is a stand-in of the vendor's. */
const isReal = ({ resources }: Synced): boolean => resources.some(({ changed }) => changed !== null);

function syncWords(synced: Synced): string {
  const records = sum(synced, 'records').toLocaleString('en');
  if (!isReal(synced)) {
    return `${synced.server}: ${records} records of ${synced.resources.length} resources. It holds one object of each kind and remembers nothing, so changes and deletions were not seen.`;
  }
  const [changed, deleted] = [sum(synced, 'changed'), sum(synced, 'deleted')];
  return `A real server, ${synced.server}: ${records} records of ${synced.resources.length} resources in full, then nothing, then only the ${changed} changed records and the ${deleted} deleted ones.`;
}

const comparedWords = (compared: Compared): string =>
  `Every path, parameter and field that the spec and its tests use is in ${compared.source}: ${countsOf(compared)}.`;

const sum = ({ resources }: Synced, of: 'records' | 'changed' | 'deleted'): number =>
  resources.reduce((total, resource) => total + (resource[of] ?? 0), 0);
