import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { expectExactlyOnce } from '../support/sync/exactly-once.ts';
import { createSync, pageOf } from '../support/sync/sync.ts';
import { generateRecords, type JournalEntry } from '../support/upstream/upstream.ts';

const pages = 2000;
const perPage = 5;
const records = pages * perPage;
const maxConcurrent = 8;
/** Pages of a chunk: those that are under way when it ends are asked for again by the next. */
const chunkPages = 1000;

const shared = useSharedService({
  collections: { numbered: generateRecords(records, { bytes: 100 }), tokens: generateRecords(40, { bytes: 100 }) },
  latencyMs: () => Math.random() * 15,
});

/** Ends of pages that are looked at again behind the last one. */
const looks = 17;

const rateLimit = { requests: 1_000_000, perSeconds: 1, maxConcurrent };

/** Of the requests to a collection, the most that were open at one time. */
function openMax(requests: readonly JournalEntry[]): number {
  const ends = (responseAt: number | null) => responseAt ?? Number.POSITIVE_INFINITY;
  const openAt = (at: number) =>
    requests.filter(({ receivedAt, responseAt }) => receivedAt <= at && at < ends(responseAt)).length;
  return Math.max(...requests.map(({ receivedAt }) => openAt(receivedAt)));
}

/** As the ledger knows a request. */
const keyOfRequest = (url: string) =>
  createHash('sha256')
    .update(JSON.stringify(['GET', url, null]))
    .digest('hex')
    .slice(0, 32);

const requestsOf = (path: string) => shared().upstream.journal.filter(({ url }) => url.startsWith(path));

it('reads numbered pages several at once and records them exactly, in their order', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'numbered', perPage, paging: 'page', rateLimit });
  const runId = await sync.requestPaused();
  upstream.resume();
  const chunks = pages / chunkPages;
  await expectExactlyOnce(stack, { sync, runId }, { records, inFlight: [(chunks - 1) * maxConcurrent, looks] });

  const requests = requestsOf('/page/numbered?');
  expect(openMax(requests)).toBeGreaterThan(maxConcurrent / 2);
  expect(openMax(requests)).toBeLessThanOrEqual(maxConcurrent);
  expect(Math.max(...requests.map(({ url }) => pageOf(url, perPage)))).toBe(pages);
  const ledger = await stack.db
    .selectFrom('runPages')
    .select(['recordsIn', 'requestKey'])
    .where('runId', '=', runId)
    .orderBy('pageNo')
    .execute();
  const keyOf = new Map(requests.map(({ url }) => [pageOf(url, perPage), keyOfRequest(`${upstream.url}${url}`)]));
  const inOrder = Array.from({ length: pages }, (_, no) => ({ recordsIn: perPage, requestKey: keyOf.get(no + 1) }));
  expect(ledger).toEqual(inOrder);
  const calls = await stack.db.selectFrom('callLog').select(['url']).where('runId', '=', runId).execute();
  const logged = calls.map(({ url }) => pageOf(url, perPage));
  expect(logged.length).toBeGreaterThanOrEqual(requests.length);
  expect(new Set(logged)).toEqual(new Set(requests.map(({ url }) => pageOf(url, perPage))));
});

it('asks for the pages of a token one after the other', async () => {
  const { stack, upstream } = shared();
  await using sync = await createSync(stack, { upstream, collection: 'tokens', perPage: 2, rateLimit });
  const runId = await sync.requestPaused();
  upstream.resume();
  await expectExactlyOnce(stack, { sync, runId }, { records: 40, inFlight: [] });
  expect(openMax(requestsOf('/cursor/tokens?'))).toBe(1);
});
