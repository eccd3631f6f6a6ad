import { afterAll, describe, expect, it } from 'vitest';
import { createTestEvaluator } from '../expressions/evaluator-fixture.ts';
import { type Enrich } from '../model/candidate.ts';
import { checkSpec } from '../spec/check/check.ts';
import type { Resource } from '../spec/schema/spec-schema.ts';
import { createKnownRecords } from './known-records.ts';
import { createPipeline } from './process-page.ts';

const evaluator = createTestEvaluator({ size: 2 });
afterAll(() => evaluator[Symbol.asyncDispose]());

const page = (records: readonly unknown[]) => ({ records, each: {}, origin: 'fetched' }) as const;

interface Parts {
  readonly enrich?: Enrich;
  readonly lookups?: Readonly<Record<string, unknown>>;
}

function pipeline(resource: Readonly<Record<string, unknown>>, { enrich, lookups = {} }: Parts = {}) {
  return createPipeline({
    resource: resourceOf(resource),
    params: {},
    lookups,
    runId: 'run_1',
    startedAt: new Date(0),
    known: createKnownRecords(async () => []),
    storedFields: null,
    enrich: enrich ?? null,
    redeliver: false,
    evaluator,
    redact: (text) => text,
    seal: (text) => text,
  });
}

function resourceOf(parts: Readonly<Record<string, unknown>>): Resource {
  const result = checkSpec({
    metadata: { key: 't', name: 'T', version: '1.0.0' },
    http: { baseUrl: 'https://api.example.com' },
    lookups: [{ kind: 'static', assignTo: 'countries', table: {} }],
    resources: [{ key: 'things', primaryKey: 'id', request: { path: '/things' }, ...parts }],
  });
  const resource = result.valid ? result.spec.resources[0] : undefined;
  if (!resource) throw new Error(JSON.stringify(result));
  return resource;
}

describe('what enrichments find', () => {
  it('is seen by the transform beside the tables', async () => {
    const stages = pipeline(
      {
        enrich: [{ assignTo: 'plan', key: 'record.plan_id', request: { path: '/plans/{{ key }}' } }],
        transform: "{ 'id': id, 'country': $lookup($lookups.countries, c), 'plan': $lookups.plan.name }",
      },
      {
        lookups: { countries: { de: 'Germany' } },
        enrich: async (candidates) =>
          candidates.map((c) => ({ ...c, lookups: { plan: { name: `P${c.externalId}` } } })),
      },
    );
    const { outcomes } = await stages.shape(await stages.select(page([{ id: 1, c: 'de' }, { id: 2 }])));
    expect(outcomes).toMatchObject([
      { row: { data: { id: 1, country: 'Germany', plan: 'P1' } } },
      { row: { data: { id: 2, plan: 'P2' } } },
    ]);
  });

  it.each(['fail', 'skip', 'quarantine'])('quarantines a record also where onInvalid is %s', async (onInvalid) => {
    const issues = [{ path: 'plan', message: 'is gone', keyword: 'enrich' }];
    const stages = pipeline(
      { onInvalid },
      { enrich: async ([first, ...rest]) => (first ? [{ ...first, issues, quarantine: true }, ...rest] : []) },
    );
    const { outcomes } = await stages.shape(await stages.select(page([{ id: 1 }, { id: 2 }])));
    expect(outcomes).toMatchObject([
      { kind: 'quarantine', row: { externalId: '1', errors: issues } },
      { kind: 'deliver' },
    ]);
  });
});

describe('a changed table', () => {
  const hashes = async (detected: readonly string[], countries: unknown) => {
    const stages = pipeline({ changeDetection: { lookups: detected } }, { lookups: { countries } });
    return (await stages.select(page([{ id: 1 }]))).candidates.map(({ hash }) => hash);
  };

  it('makes records new where changeDetection names it, and only there', async () => {
    const one = { de: 'Germany', fr: 'France' };
    const other = { de: 'Germania', fr: 'France' };
    expect(await hashes(['countries'], one)).not.toEqual(await hashes(['countries'], other));
    expect(await hashes(['countries'], one)).toEqual(await hashes(['countries'], { fr: 'France', de: 'Germany' }));
    expect(await hashes([], one)).toEqual(await hashes([], other));
  });
});
