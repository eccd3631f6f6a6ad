import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setOrgLimits } from '../../db/queries/orgs/org-limits.ts';
import { orgScope } from '../../db/scope.ts';
import { type AuditedDestination, openAuditedDestination } from '../support/destinations/audit.ts';
import { startReceiver } from '../support/destinations/webhook-receiver.ts';
import { figure, note } from '../support/security/figure.ts';
import type { TestOrg } from '../support/service/api.ts';
import { eventually } from '../support/service/eventually.ts';
import { useStack } from '../support/service/use-stack.ts';
import { startTdsFake } from '../support/sqlserver/tds-fake.ts';
import type { Addresses, BaseDocument } from '../support/string-slots/base-document.ts';
import { baseDocuments, response } from '../support/string-slots/documents.ts';
import { attacks, hostileStrings } from '../support/string-slots/hostile-strings.ts';
import { replaced, type Slot, slotsOf, slotsOfSchema, textsOf } from '../support/string-slots/slots.ts';

/**
 * How many texts each slot gets, beside half as many attacks. One is enough here: every slot gets others, so that each text
 * is tried at many slots, and each slot has an attack as well. A second took 30 s of CPU and is of the same kind;
 * `npm run trust` has twelve.
 */
const textsPerSlot = Number(process.env['STRING_SLOT_TEXTS'] ?? 1);
/** Runs under way at once. */
const width = 16;
/** Final within this time, ms, whatever a text does. */
const runMsMax = 30_000;
const webhookSecret = `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`;

const started = new AsyncDisposableStack();
const allow: string[] = [];
let at: Omit<Addresses, 'api'>;
let database: AuditedDestination;
beforeAll(async () => {
  const receiver = started.use(await startReceiver(webhookSecret));
  const sqlServer = started.use(await startTdsFake({ login: () => ({ number: 18_456, message: 'No.' }) }));
  database = started.use(await openAuditedDestination());
  at = { database: new URL(database.url), sqlServerPort: sqlServer.port, webhook: receiver.url, webhookSecret };
  allow.push(new URL(receiver.url).host, `127.0.0.1:${sqlServer.port}`);
});
afterAll(() => started.disposeAsync());

/** What the fake API says below a path of one case; elsewhere it says the usual. */
const replies = new Map<string, { readonly body: unknown; readonly headers: Readonly<Record<string, string>> }>();
const shared = useStack(
  {
    reply({ url }) {
      const { body = response, headers = {} } = replies.get(url.split(/[/?]/)[1] ?? '') ?? {};
      return { headers, body: JSON.stringify(body) };
    },
  },
  { allow },
);

describe('a text that nobody expects', { timeout: 1_800_000 }, () => {
  it('is known of: the documents of this test have text in every slot of the schema', () => {
    const found = new Set(
      documentsAt(shared().upstream.url)
        .flatMap(({ document }) => slotsOf(document))
        .map(nameOf),
    );
    expect([...slotsOfSchema].filter((name) => !found.has(name))).toEqual([]);
  });

  it('changes nothing of the documents as they are: each of their runs ends as it should', async () => {
    const org = await ownOrg();
    const outcomes = await inTurn(documentsAt(shared().upstream.url), async (base) => {
      const outcome = await attempt(org, base);
      return [base.name, outcome.kind === 'ended' ? (outcome.code ?? outcome.status) : outcome.kind, outcome];
    });
    expect(outcomes).toEqual(documentsAt('').map(({ name, ends }) => [name, ends, expect.anything()]));
  });

  it('in a slot of a spec, a param or a secret is refused when it is stored, or ends the run with a code', async () => {
    const cases = documentsAt(shared().upstream.url).flatMap((base) => [
      ...slotsOf(base.document)
        .filter(({ path }) => base.changed.some((begin) => path.join('.').startsWith(begin)))
        .map((slot) => ({ base, part: 'document' as const, slot })),
      ...(['params', 'secrets'] as const).flatMap((part) =>
        [...textsOf(base[part], part)].map((slot) => ({ base, part, slot })),
      ),
    ]);
    const known = new Set<string>();
    const isKnown = (name: string) => known.has(name) || !known.add(name);
    const broken = await brokenOf(
      cases.flatMap(({ base, part, slot }, index) =>
        textsFor(index, part === 'document' && isKnown(slot.name)).map((text) => ({
          group: part,
          what: `${base.name}: ${slot.name}`,
          text,
          base: { ...base, [part]: replaced(base[part], slot, text) },
        })),
      ),
    );
    expect(broken.join('\n')).toBe('');
  });

  it('in a response is data, or ends the run with a code', async () => {
    const { upstream } = shared();
    const readers = new Set(['whole', 'cursor', 'token', 'endpoint', 'paged-next_url', 'paged-cursor', 'auth-session']);
    const slots = [...textsOf({ ...response, next: '' }, 'body')];
    const cases = documentsAt(upstream.url)
      .filter(({ name }) => readers.has(name))
      .flatMap(({ name }) => slots.map((slot) => ({ name, slot })));
    const broken = await brokenOf(
      cases.flatMap(({ name, slot }, index) =>
        [...textsFor(index), ...findingsAt(name, slot)].map((text) => {
          const path = `case-${replies.size}`;
          replies.set(path, { body: replaced({ ...response, next: '' }, slot, text), headers: headersWith(text) });
          const base = documentsAt(`${upstream.url}/${path}`).find((document) => document.name === name);
          if (!base) throw new Error('There is such a document');
          return { group: 'response', what: `${name}: ${slot.name}`, text, base };
        }),
      ),
    );
    expect(broken.join('\n')).toBe('');
  });
});

const nameOf = ({ name }: Slot): string => name;

const documentsAt = (api: string) => baseDocuments({ ...at, api });

/**
 * As many hostile texts as a slot gets, and half as many attacks. One that another document has as well, as
 * `resources.key` that fourteen have, gets one or the other there: a tenth of all cases, and of the time.
 */
function textsFor(index: number, isRepeated = false): readonly string[] {
  const texts = someOf(hostileStrings, { index, count: textsPerSlot });
  const attempts = someOf(attacks, { index, count: Math.ceil(textsPerSlot / 2) });
  if (!isRepeated || textsPerSlot > 1) return [...texts, ...attempts];
  return index % 2 === 0 ? texts : attempts;
}

const someOf = (texts: readonly string[], { index, count }: { readonly index: number; readonly count: number }) =>
  Array.from({ length: Math.min(count, texts.length) }, (_, nth) => texts[(index * count + nth) % texts.length] ?? '');

/** What this test has found: tried each time. */
const findings: readonly (readonly [document: string, slot: string, text: string])[] = [
  // The key of a partition could not be stored.
  ['whole', 'body.data.0.id', 'a\0b'],
];

const findingsAt = (document: string, { name }: Slot): readonly string[] =>
  findings.filter(([found, slot]) => found === document && slot === name).map(([, , text]) => text);

/** Headers that the engine reads; a server can only send what a header can carry. */
const headersWith = (text: string): Record<string, string> =>
  /^[\x20-\x7e]*$/.test(text) ? { link: `<${text}>; rel="next"`, 'retry-after': text, 'x-left': text, etag: text } : {};

interface Case {
  readonly group: string;
  readonly what: string;
  readonly text: string;
  readonly base: BaseDocument;
}

/** The cases that are neither refused, nor end their run in time and without an error of ours. */
async function brokenOf(cases: readonly Case[]): Promise<readonly string[]> {
  let org = await ownOrg();
  let used = 0;
  const tried = await inTurn(cases, async (one) => {
    used += 1;
    // A plan of its own for every few hundred connections.
    if (used % 400 === 0) org = await ownOrg();
    return { ...one, outcome: await attempt(org, one.base) };
  });
  const outcomes: typeof tried = [];
  for (const one of tried) {
    // Many runs share a busy machine: one that was late is tried once more, alone.
    const isLate = one.outcome.kind === 'stuck';
    outcomes.push(isLate ? { ...one, outcome: await attempt(await ownOrg(), one.base) } : one);
  }
  for (const [group, ofGroup] of Map.groupBy(outcomes, (one) => one.group)) note(rowOf(group, ofGroup));
  const broken = outcomes.filter(({ outcome }) => isBroken(outcome));
  const stuck = broken.filter(({ outcome }) => outcome.kind === 'stuck');
  figure('textsStuck', { count: stuck.length, of: outcomes.length });
  figure('textsInternal', { count: broken.length - stuck.length, of: outcomes.length });
  return broken.map(
    ({ what, text, outcome }) => `${what} = ${JSON.stringify(text.slice(0, 60))}: ${JSON.stringify(outcome)}`,
  );
}

/** A line of the table: slots, texts tried, and their outcomes. */
function rowOf(group: string, ofGroup: readonly (Case & { readonly outcome: Outcome })[]): string {
  const count = (matches: (outcome: Outcome) => boolean) => ofGroup.filter(({ outcome }) => matches(outcome)).length;
  const columns = {
    slots: new Set(ofGroup.map(({ what }) => what)).size,
    texts: ofGroup.length,
    'refused when stored': count(({ kind }) => kind === 'refused'),
    'ended with a code': count((outcome) => outcome.kind === 'ended' && outcome.code !== null),
    'were data': count((outcome) => outcome.kind === 'ended' && outcome.code === null),
    internal: count((outcome) => outcome.kind !== 'stuck' && isBroken(outcome)),
    stuck: count(({ kind }) => kind === 'stuck'),
  };
  const cells = Object.entries(columns).map(([name, value]) => `${value} ${name}`);
  return `${`${group}:`.padEnd(10)} ${cells.join(', ')}`;
}

type Outcome =
  | { readonly kind: 'refused'; readonly status: number; readonly path: string; readonly error: unknown }
  | { readonly kind: 'ended'; readonly status: string; readonly code: string | null }
  | { readonly kind: 'stuck'; readonly code: string | null };

const isBroken = (outcome: Outcome): boolean =>
  outcome.kind === 'stuck' ||
  (outcome.kind === 'refused' && outcome.status >= 500) ||
  (outcome.kind === 'ended' && (outcome.code === 'internal' || (outcome.status === 'failed' && outcome.code === null)));

let attempts = 0;

/** Stores the spec, connects it and syncs its first resource, up to where it is refused or the run has ended. */
async function attempt(org: TestOrg, { name, document, params, secrets }: BaseDocument): Promise<Outcome> {
  attempts += 1;
  const { metadata, resources } = document;
  const isOwnKey = metadata.key === name;
  const spec = { ...document, metadata: { ...metadata, key: isOwnKey ? `${name}-${attempts}` : metadata.key } };
  const steps: readonly ((id: string) => readonly [path: string, body?: unknown])[] = [
    () => ['/specs', spec],
    () => [`/specs/${encodeURIComponent(spec.metadata.key)}/versions/${metadata.version}/publish`],
    () => [
      '/connections',
      {
        workspaceId: org.workspaceId,
        specKey: spec.metadata.key,
        specVersion: metadata.version,
        displayName: 'A connection',
        params,
        secrets,
      },
    ],
    (id) => [`/connections/${id}/activate`],
    (id) => [`/connections/${id}/sync`, { resource: resources[0]?.key }],
  ];
  let id = '';
  for (const step of steps) {
    const [path, body] = step(id);
    const { status, body: reply } = await org.call('POST', path, { body });
    if (status >= 400) return { kind: 'refused', status, path: path.replace(id, ''), error: reply.error };
    id = reply.id;
  }
  return endOf(id);
}

async function endOf(runId: string): Promise<Outcome> {
  const { db } = shared().stack;
  const read = () =>
    db
      .selectFrom('runs')
      .select(['status', 'errorCode as code', 'finishedAt'])
      .where('id', '=', runId)
      .executeTakeFirst();
  const isOver = async () => {
    const run = await read();
    return run?.finishedAt && { kind: 'ended' as const, status: run.status, code: run.code };
  };
  try {
    return (await eventually('the run ends', isOver, { timeoutMs: runMsMax, everyMs: 200 })) as Outcome;
  } catch {
    return { kind: 'stuck', code: (await read())?.code ?? null };
  }
}

/** Works on some items at once; the results are in their order. */
async function inTurn<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

/** An org that takes over the tables of the one before. */
async function ownOrg(): Promise<TestOrg> {
  const { stack } = shared();
  await database.query('drop table if exists _css_tables');
  const org = await stack.newOrg();
  await setOrgLimits(stack.db, orgScope(org.orgId), { runsAtOnce: width });
  return org;
}
