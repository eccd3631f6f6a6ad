/**
 * What one hand-written loop can do: the same API, the same rows into the same PostgreSQL, and nothing that a service
 * has besides: no runs, no log of calls, no guard, no other org.
 */
import { askForPages } from '../ceiling/asking.ts';
import { type Page, type ReadOptions, readPages } from '../ceiling/pages.ts';
import { check, copied, evaluated, fingerprintOf, mapped, type Row } from '../ceiling/rows.ts';
import { type CeilingTable, openTable, type Progress } from '../ceiling/table.ts';
import type { Customer } from '../support/customers.ts';
import { runJobs } from '../support/partner.ts';

/**
 * `whole` filters by fingerprint, maps in plain JavaScript and validates; `jsonata` does the same with the interpreter;
 * `bare` copies.
 */
export type CeilingForm = 'whole' | 'jsonata' | 'bare';

interface SyncOptions extends Omit<ReadOptions, 'since'> {
  readonly databaseUrl: string;
  readonly form: CeilingForm;
  /** True: only what has changed since the last time, if there was one. */
  readonly incremental: boolean;
}

const rowsOfBatch = 1000;

export type CeilingJobs = typeof jobs;
const jobs = runJobs({
  /** Reads everything once. */
  async sync({ databaseUrl, form, incremental, ...read }: SyncOptions): Promise<void> {
    await using table = await openTable(databaseUrl);
    const watermark = (await table.checkpoint())?.watermark ?? null;
    const batches = readBatches({ ...read, since: incremental ? watermark : null });
    let [writing, latest] = [Promise.resolve(), watermark];
    for await (const pages of batches) {
      const customers = pages.flatMap(({ data }) => data);
      for (const { updated_at } of customers) if (latest === null || updated_at > latest) latest = updated_at;
      const { rows, fingerprints } = await workOf(table, customers, form);
      // One batch is written while the next is prepared.
      await writing;
      writing = deliver(table, rows, { fingerprints, next: pages.at(-1)?.next ?? null, watermark: latest });
    }
    await writing;
  },
  /** Asks for every page and does nothing with them; how many there were. */
  ask: async (url: string): Promise<number> => await askForPages(url),
});

async function* readBatches(options: ReadOptions): AsyncGenerator<readonly Page[]> {
  let pages: Page[] = [];
  let rows = 0;
  for await (const page of readPages(options)) {
    pages.push(page);
    rows += page.data.length;
    if (rows < rowsOfBatch) continue;
    yield pages;
    [pages, rows] = [[], 0];
  }
  if (pages.length > 0) yield pages;
}

interface Work {
  readonly rows: readonly Row[];
  /** Of the rows, by id. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

async function workOf(table: CeilingTable, customers: readonly Customer[], form: CeilingForm): Promise<Work> {
  if (form === 'bare') return { rows: customers.map(copied), fingerprints: new Map() };
  const known = await table.known(customers.map(({ external_id }) => external_id));
  const fingerprints = new Map<string, string>();
  const changed = customers.filter((customer) => {
    const fingerprint = fingerprintOf(customer);
    if (known.get(customer.external_id) === fingerprint) return false;
    fingerprints.set(customer.external_id, fingerprint);
    return true;
  });
  const rows = form === 'whole' ? changed.map(mapped) : await evaluated(changed);
  for (const row of rows) check(row);
  return { rows, fingerprints };
}

async function deliver(table: CeilingTable, rows: readonly Row[], progress: Progress): Promise<void> {
  if (rows.length > 0) await table.write(rows);
  await table.note(progress);
}
