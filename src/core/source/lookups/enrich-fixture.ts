/** For tests of enrichment: steps over the real client against an API of plans. */
import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import type { TestEvaluator } from '../../expressions/evaluator-fixture.ts';
import { parseAllowList } from '../../http/addresses.ts';
import { createHttpClient } from '../../http/client.ts';
import { createEgressGuard } from '../../http/egress.ts';
import type { LoggedCall } from '../../http/logged-call.ts';
import type { Candidate } from '../../model/candidate.ts';
import type { HttpClient } from '../../model/http.ts';
import { Enrichment } from '../../spec/schema/lookup-schema.ts';
import type { Source } from '../source.ts';
import { type Api, type ApiReply, type ApiRequest, sourceOf } from '../source-fixture.ts';
import { createEnrich } from './enrich.ts';
import { type MemoryStore, memoryStore } from './lookup-store-fixture.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Case {
  readonly steps: readonly Json[];
  readonly store?: MemoryStore;
  readonly overrides?: Partial<Source>;
  readonly http?: Json;
  readonly wrap?: (client: HttpClient) => HttpClient;
}

export const enricherWith =
  (evaluator: TestEvaluator) =>
  (api: Api, { steps, store = memoryStore(), overrides = {}, http = {}, wrap = (c) => c }: Case) => {
    const source = sourceOf({ api, evaluator, resource: {}, http }, overrides);
    const calls: LoggedCall[] = [];
    const client = createHttpClient({
      egress: createEgressGuard({ allow: parseAllowList(new URL(api.origin).host), deny: [], allowHttp: false }),
      takeToken: async () => 0,
      logCall: (call) => void calls.push(call),
      secrets: [],
      retry: { maxAttempts: 2, baseMs: 1, maxMs: 1, maxWaitSeconds: 3600 },
      redirects: 'none',
      sleep: async () => {},
    });
    const enrich = createEnrich({ ...source, client: wrap(client) }, parsed(steps), {
      store,
      signal: new AbortController().signal,
    });
    return {
      calls,
      candidates: async (records: readonly unknown[], each: Json = {}) =>
        (await enrich?.(records.map(candidate), { each })) ?? [],
      async lookups(records: readonly unknown[], each: Json = {}) {
        return (await this.candidates(records, each)).map(({ lookups }) => lookups);
      },
      [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
    };
  };

export const parsed = (steps: readonly Json[]) => v.parse(v.array(Enrichment), steps);

export const candidate = (raw: unknown, n: number): Candidate => ({
  raw,
  externalId: String(n),
  hash: `h${n}`,
  cursor: null,
  issues: null,
  data: null,
  lookups: null,
  isPlain: true,
  quarantine: false,
  isDegraded: false,
  isDeleted: false,
  isFiltered: false,
});

export const plan = { assignTo: 'plan', key: 'record.plan', request: { path: '/plans/{{ key }}' } };

/** By the last part of the path: `gone…` do not exist, `broken…` are a failure of the server, others exist. */
export function plans({ url }: ApiRequest): ApiReply {
  const id = url.pathname.split('/').at(-1) ?? '';
  if (id.startsWith('gone')) return { status: 404, body: { error: 'no such plan' } };
  if (id.startsWith('broken')) return { status: 500, body: {} };
  return { body: { id, name: `Plan ${id}`, price_id: `price-${id}` } };
}

export const pathsOf = (api: Api) => api.requests.map(({ url }) => url.pathname + url.search);

export const codeOf = (error: unknown) => (error instanceof AppError ? error.code : String(error));
