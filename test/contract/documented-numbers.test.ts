import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const minute = 60;
const [second, mebibyte] = [1000, 1_048_576];

/**
 * A number that a document repeats: the document, and its words in one line with `#` for the number; the file in which the code
 * has it, and its name there or the text before it; what one of the document is in the unit of the code.
 */
type Repeated = readonly [document: string, words: string, file: string, name: string, unit: number];

const repeated: readonly Repeated[] = [
  ['ARCHITECTURE.md', 'misses the heartbeat after # s', 'workflows/run-to-end.ts', "heartbeatTimeout: '", 1],
  ['SECURITY.md', 'a URL has # characters', 'src/core/http/url-limit.ts', 'urlCharsMax', 1],
  ['SECURITY.md', 'made of secrets, which have # characters', 'src/core/crypto/secret-limit.ts', 'secretCharsMax', 1],
  [
    'SECURITY.md',
    'all secrets of a connection have # characters',
    'src/core/crypto/secret-limit.ts',
    'secretsCharsMax',
    1,
  ],
  ['docs/connectors/cli.md', 'A document may have # MiB', 'src/cli/local/import-file.ts', 'documentBytesMax', mebibyte],
  [
    'docs/connectors/cookbook.md',
    '`http.maxResponseBytes`, # records',
    'src/core/source/read/page-size.ts',
    'pageRecordsMax',
    1,
  ],
  [
    'docs/connectors/errors.md',
    'the body is longer than # MiB',
    'src/core/json/body-document.ts',
    'bodyBytesMax',
    mebibyte,
  ],
  ['docs/console.md', 'and after # hours', 'src/console/session.ts', 'absoluteSeconds', 60 * minute],
  ['docs/debugging.md', 'No heartbeat for # s', 'workflows/run-to-end.ts', "heartbeatTimeout: '", 1],
  ['docs/debugging.md', 'the run fails after # attempts', 'activities/sync-chunk.ts', 'attemptsMax', 1],
  ['docs/debugging.md', 'attempts, or # for `internal`', 'activities/sync-chunk.ts', 'unexpectedAttemptsMax', 1],
  ['docs/operating.md', 'an org has at most # costly requests', 'src/api/gates/costly-requests.ts', 'costlyMax', 1],
  ['docs/operating.md', 'and a hook # requests in each', 'src/api/receive-hook.ts', 'requestsMax', 1],
  ['docs/operating.md', 'at most # in progress in each process', 'src/api/gates/org-requests.ts', 'requestsMax', 1],
  ['docs/operating.md', 'Then # wait for their turn', 'src/api/gates/org-requests.ts', 'waitingMax', 1],
  [
    'docs/operating.md',
    'A client may send # requests on one connection',
    'src/api/gates/pipelined-requests.ts',
    'pipelinedMax',
    1,
  ],
  ['docs/operating.md', 'takes no piece of a response within # s', 'src/api/server.ts', 'readTimeoutMs = ', second],
  [
    'docs/operating.md',
    'Requests to hooks are kept for # days',
    'db/queries/hooks/hook-requests.ts',
    'hookRequestDays',
    1,
  ],
  ['docs/operating.md', 'is silent for # s lends', 'activities/movement.ts', 'silentMs', second],
  ['docs/operating.md', 'ends what is open within # s', 'src/api/server.ts', 'drainMs', second],
  ['docs/operating.md', 'what the run waits for, updated every # s', 'activities/progress.ts', 'reportMs', second],
  [
    'docs/operations/metrics.md',
    'at a scrape, at most every # s',
    'src/telemetry/metrics/backlog-gauges.ts',
    'freshMs',
    second,
  ],
  ['docs/operations/metrics.md', 'at most once in # s', 'src/telemetry/metrics/total-gauges.ts', 'freshMs', second],
  [
    'docs/operations/stuck-run.md',
    'The sweeper looks at them after # s',
    'src/maintenance/run-sweep.ts',
    'silentMs',
    second,
  ],
  [
    'docs/operations/temporal-lost.md',
    'once it has been silent for # s',
    'src/maintenance/run-sweep.ts',
    'silentMs',
    second,
  ],
  ['docs/operations/upgrade.md', 'hands its runs over. It needs up to # s', 'src/worker.ts', "shutdownForceTime: '", 1],
  ['docs/operations/upgrade.md', 'ends what is open within # s', 'src/api/server.ts', 'drainMs', second],
  [
    'docs/scaling.md',
    'a request to a hook, with its trigger | 781 | 800 | | # days',
    'db/queries/hooks/hook-requests.ts',
    'hookRequestDays',
    1,
  ],
  ['docs/oauth.md', 'good once, within # minutes', 'src/control/oauth/pending.ts', 'pendingSeconds', minute],
  ['docs/widget.md', 'read that one connection for # minutes', 'src/api/routes/embed.ts', 'usualSeconds', minute],
  [
    'docs/widget.md',
    'refreshes its data every # seconds',
    'src/embed-widget/connector-freshness.js',
    'refreshMs',
    second,
  ],
  ['openapi.json', 'safe to repeat for # hours', 'db/queries/orgs/idempotency.ts', "const kept = sql`interval '", 1],
];

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

it.each(repeated)(
  'the number in the document is the number in the code: %s, “%s”',
  (document, words, file, name, unit) => {
    const [before = '', after = ''] = words.split('#').map((text) => escaped(text).replaceAll(' ', '\\s+'));
    const shown = new RegExp(`${before}([\\d,]+)${after}`).exec(read(document))?.[1];
    expect(shown, `${document} says “${words}”`).toBeDefined();
    expect(Number(shown?.replaceAll(',', '')) * unit).toBe(numberIn(file, name));
  },
);

/** The number behind a text, or of a constant of that name: a product of numbers. Throws where there is none. */
function numberIn(file: string, name: string): number {
  const before = /^\w+$/.test(name) ? `const ${name} = ` : escaped(name);
  const product = new RegExp(`${before}(\\d[\\d_]*(?: \\* \\d[\\d_]*)*)`).exec(read(file))?.[1];
  if (product === undefined) throw new Error(`${file} has no number at ${name}`);
  return product.split(' * ').reduce((result, factor) => result * Number(factor.replaceAll('_', '')), 1);
}
