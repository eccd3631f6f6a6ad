/** Enriches new and changed records of a page with other requests. */

import { hash } from 'node:crypto';
import { storableJson } from '../../json/storable-json.ts';
import type { Candidate, Enrich } from '../../model/candidate.ts';
import { dependenciesOf } from '../../spec/check/step-dependencies.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import type { Source } from '../source.ts';
import { inDependencyOrder } from './dependency-order.ts';
import { createResponseMemo } from './enrich-cache.ts';
import { createPageCaches } from './enrich-page-cache.ts';
import { createCountValues } from './enrich-response.ts';
import { enrichStep, type Step, type Subject } from './enrich-step.ts';
import type { LookupStore } from './lookup-store.ts';

/** Call-log rows of one page for requests that a cache saved. */
const savedRowsMax = 100;

/**
 * `null` without steps; uses the client and credentials of `source` and the error rules of `http`. Throws errors that
 * concern the run: rejected credentials, a blocked address, a long wait, and issues of a record where a step says
 * `fail`.
 */
export function createEnrich(
  source: Omit<Source, 'watermark'>,
  enrichments: readonly Enrichment[],
  { store, signal }: { readonly store: LookupStore; readonly signal: AbortSignal },
): Enrich | null {
  if (enrichments.length === 0) return null;
  const steps = enrichments.map((step) => ({
    ...step,
    dependsOn: dependenciesOf(step, 'enrichment'),
    responses: createResponseMemo(),
    pageCacheFor: createPageCaches(step, source, store),
  }));
  return async (candidates, { each }) => {
    const subjects = candidates.filter(isEnriched).map(subjectOf);
    if (subjects.length === 0) return candidates;
    const identity = identityOf(subjects);
    const mayLog = createSavedRows();
    const count = createCountValues();
    await inDependencyOrder(steps, (step) =>
      enrichStep(step, subjects, {
        source: { ...source, each },
        cache: step.responses,
        pageCache: step.pageCacheFor({ each, identity }),
        store,
        signal,
        count,
        mayLog,
      }),
    );
    const enriched = new Map(subjects.map((subject) => [subject.candidate, candidateOf(subject, steps)]));
    return candidates.map((candidate) => enriched.get(candidate) ?? candidate);
  };
}

/** One row per key, or per page for a batch. */
function createSavedRows(): (step: Step) => boolean {
  const batched = new Set<string>();
  let rows = 0;
  return ({ assignTo, batch }) => {
    if (rows >= savedRowsMax || batched.has(assignTo)) return false;
    if (batch) batched.add(assignTo);
    rows += 1;
    return true;
  };
}

const isEnriched = ({ issues, isDeleted }: Candidate): boolean => issues === null && !isDeleted;

const subjectOf = (candidate: Candidate, no: number): Subject => ({
  no,
  candidate,
  found: {},
  failures: new Map(),
  isDegraded: false,
});

function identityOf(subjects: readonly Subject[]): string {
  const versions = subjects.map(({ candidate: { externalId, hash: version, raw } }) =>
    JSON.stringify([externalId, version ?? storableJson(raw)]),
  );
  return hash('sha256', versions.join('\n'), 'base64url');
}

/** Issues are in the order of the steps, whichever ended first. */
function candidateOf(
  { candidate, found, failures, isDegraded }: Subject,
  steps: readonly Pick<Enrichment, 'assignTo'>[],
): Candidate {
  const issues = steps.flatMap(({ assignTo }) => {
    const failure = failures.get(assignTo);
    return failure ? [{ path: assignTo, message: failure.message, keyword: 'enrich' }] : [];
  });
  if (issues.length === 0) return { ...candidate, lookups: found, isDegraded };
  return { ...candidate, issues, quarantine: [...failures.values()].some((failure) => failure?.quarantine) };
}
