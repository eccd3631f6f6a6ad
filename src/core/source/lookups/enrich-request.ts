import * as v from 'valibot';
import { AppError, type ErrorCode } from '../../errors.ts';
import type { Classify, HttpRequest } from '../../model/http.ts';
import type { Enrichment } from '../../spec/schema/lookup-schema.ts';
import { ResponseSettings } from '../../spec/schema/resource-schema.ts';
import { authRoot, createSigner } from '../auth/request-signer.ts';
import { decodeBody } from '../decode/decode-body.ts';
import { checkSuccess } from '../request/check-success.ts';
import { createEvaluate } from '../request/evaluate.ts';
import { interpretResponse } from '../request/interpret-response.ts';
import { openResponseCache } from '../request/open-response-cache.ts';
import { rendererFor, renderRequest } from '../request/render-request.ts';
import type { ReadableResource, Source } from '../source.ts';
import type { KeyResponse } from './enrich-response.ts';
import type { LookupStore } from './lookup-store.ts';
import { createReadResponses } from './read-responses.ts';

export interface Ask {
  /** `undefined` if the step has no key. */
  readonly key: unknown;
  /** Keys with the same text are requested once. */
  readonly text: string;
  readonly record: unknown;
  /** The tables, and results of earlier steps. */
  readonly lookups: Readonly<Record<string, unknown>>;
}

export interface EnrichRequests {
  /**
   * Several keys only with `batch`. Throws errors that do not concern the keys: rejected credentials, a blocked
   * address, a wait that is too long to sleep here.
   */
  fetch(asks: readonly Ask[]): Promise<ReadonlyMap<string, KeyResponse>>;
  /** Logs the request for these keys as one that the cache saved. */
  logSaved(asks: readonly Ask[]): Promise<void>;
}

/** Uses the client and the credentials of `source`, and the error rules of `http`. */
export function createEnrichRequests(
  source: Omit<Source, 'watermark'>,
  step: Omit<Enrichment, 'dependsOn'>,
  { store, signal }: { readonly store: LookupStore; readonly signal: AbortSignal },
): EnrichRequests {
  const plain = sourceOfStep(source, step);
  const evaluate = createEvaluate(source.evaluator, new Date(source.run.startedAt));
  const readResponses = createReadResponses(source, step);
  const page = { index: 1, startsFromToken: false };
  const classify = acceptMissing(interpretResponse(plain, { evaluate, page }));
  const template = step.batch ? withListOfKeys(step.request) : step.request;
  const responses = openResponseCache(source, template, store);

  const rendered = async (asks: readonly Ask[]): Promise<HttpRequest> => {
    const render = rendererFor(source, { ...(await sharedRoots(source, signal)), ...rootsOf(asks, step, source) });
    return (await renderRequest(source, template, { render, link: null, inject: null })).http;
  };

  const ask = async (asks: readonly Ask[]): Promise<{ readonly body: unknown } | null> => {
    const request = await rendered(asks);
    const { response, keep } = await responses.send(request, {
      signal,
      signer: createSigner(source, signal),
      classify,
    });
    if (response.status === 404 || response.meaning) {
      response.held?.release();
      return null;
    }
    const body = response.body.length === 0 ? null : await decodeBody(response, plain);
    const { headers, status } = response;
    const roots = { body, headers, status, params: source.params, watermark: null };
    await checkSuccess(step.successWhen, roots, evaluate);
    await keep({ isLast: true });
    return { body };
  };

  const responsesTo = async (asks: readonly Ask[]): Promise<ReadonlyMap<string, KeyResponse>> => {
    const response = await ask(asks);
    const texts = asks.map(({ text }) => text);
    const found: ReadonlyMap<string, KeyResponse> =
      response === null
        ? new Map(texts.map((text) => [text, { kind: 'missing' }]))
        : await readResponses(response.body, texts);
    const missing = asks.filter(({ text }) => found.get(text)?.kind === 'missing');
    // An API may cap its responses, so keys are missing only if a response has none of them.
    if (missing.length === 0 || missing.length === asks.length) return found;
    return new Map([...found, ...(await responsesTo(missing))]);
  };

  return {
    async fetch(asks) {
      try {
        return await responsesTo(asks);
      } catch (error) {
        if (!isOfTheKeys(error)) throw error;
        return new Map(asks.map(({ text }) => [text, { kind: 'failed', error }]));
      }
    },
    async logSaved(asks) {
      try {
        await source.client.logSaved(await rendered(asks));
      } catch (error) {
        // The response was cached for another record; with the fields of this one the address may be invalid.
        if (!isOfTheKeys(error)) throw error;
      }
    },
  };
}

/**
 * JSONata takes a list of one for its element, so `batch.keys` becomes `batch.keys[]` wherever an expression uses more
 * than the list.
 */
const withListOfKeys = (request: Enrichment['request']): Enrichment['request'] =>
  JSON.parse(JSON.stringify(request).replaceAll(/\bbatch\.keys\b(?!\s*(?:\[|\}\}))/g, 'batch.keys[]'));

/** Errors that a spec may handle; all others concern the run. */
const isOfTheKeys = (error: unknown): error is AppError => error instanceof AppError && ofTheKeys.has(error.code);

const ofTheKeys: ReadonlySet<ErrorCode> = new Set(['source_rejected', 'source_unavailable', 'spec_invalid']);

/** A 404 is a response, unless an error rule says to retry. */
const acceptMissing =
  (classify: Classify): Classify =>
  async (response, request) => {
    const verdict = await classify(response, request);
    return response.status === 404 && verdict.action === 'fail' ? { action: 'accept' } : verdict;
  };

/** The resource's decoder and error rules do not apply to responses of the step. */
function sourceOfStep(
  source: Omit<Source, 'watermark'>,
  { assignTo, request }: Pick<Enrichment, 'assignTo' | 'request'>,
): Source {
  const response = v.parse(ResponseSettings, {});
  const pagination = { kind: 'none', maxPages: 1, onRepeat: 'fail', emptyPage: 'stop' } as const;
  const resource: ReadableResource = { key: assignTo, request, response, pagination, errors: [] };
  return { ...source, resource, watermark: null };
}

const sharedRoots = async (source: Omit<Source, 'watermark'>, signal: AbortSignal) => ({
  params: source.params,
  each: source.each,
  run: source.run,
  auth: await authRoot(source, signal),
  window: { from: null, to: null },
  watermark: null,
  page: {},
});

function rootsOf(asks: readonly Ask[], { batch }: Pick<Enrichment, 'batch'>, { lookups }: Pick<Source, 'lookups'>) {
  if (batch) return { lookups, batch: { keys: asks.map(({ key }) => key) } };
  const [first] = asks;
  return { lookups: first?.lookups ?? lookups, record: first?.record, key: first?.key };
}
