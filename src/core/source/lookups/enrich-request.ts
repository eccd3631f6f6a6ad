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

/** A requested key, and the first record that has it. */
export interface Ask {
  /** The key as the expression gave it; undefined: the step has no key. */
  readonly key: unknown;
  /** The key as text, the same for keys that are requested together. */
  readonly text: string;
  readonly record: unknown;
  /** The tables, and what earlier steps found for the record. */
  readonly lookups: Readonly<Record<string, unknown>>;
}

/** The requests of one step for the records of one partition. */
export interface EnrichRequests {
  /**
   * The response to each of these keys, by their texts; more than one only with `batch`. Throws errors that do not
   * concern the keys: rejected credentials, a blocked address, a wait that is too long to sleep here.
   */
  fetch(asks: readonly Ask[]): Promise<ReadonlyMap<string, KeyResponse>>;
  /** Adds the request for these keys to the call log, as one that the cache saved. */
  logSaved(asks: readonly Ask[]): Promise<void>;
}

/** Requests of `step` with the client and the credentials of `source`, under the error rules of `http`. */
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

  /** The body of the response; null: the key is not found. */
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
    // An API may cap its responses, so keys are missing only from a response that has none of them.
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
        // The cached response belongs to a request with another record's fields; with these the address may be invalid.
        if (!isOfTheKeys(error)) throw error;
      }
    },
  };
}

/**
 * The template of a batch, with `batch.keys[]` for `batch.keys` wherever an expression uses more than the list itself.
 * JSONata takes a list of one for its only element, so a batch of one key would otherwise not be a list.
 */
const withListOfKeys = (request: Enrichment['request']): Enrichment['request'] =>
  JSON.parse(JSON.stringify(request).replaceAll(/\bbatch\.keys\b(?!\s*(?:\[|\}\}))/g, 'batch.keys[]'));

/** Errors that a spec may handle; all others concern the run and not a key. */
const isOfTheKeys = (error: unknown): error is AppError => error instanceof AppError && ofTheKeys.has(error.code);

const ofTheKeys: ReadonlySet<ErrorCode> = new Set(['source_rejected', 'source_unavailable', 'spec_invalid']);

/** A 404 is a response, unless an error rule says to retry. */
const acceptMissing =
  (classify: Classify): Classify =>
  async (response, request) => {
    const verdict = await classify(response, request);
    return response.status === 404 && verdict.action === 'fail' ? { action: 'accept' } : verdict;
  };

/** The step as a resource of its own: the resource's decoder and error rules do not apply to its responses. */
function sourceOfStep(
  source: Omit<Source, 'watermark'>,
  { assignTo, request }: Pick<Enrichment, 'assignTo' | 'request'>,
): Source {
  const response = v.parse(ResponseSettings, {});
  const pagination = { kind: 'none', maxPages: 1, onRepeat: 'fail', emptyPage: 'stop' } as const;
  const resource: ReadableResource = { key: assignTo, request, response, pagination, errors: [] };
  return { ...source, resource, watermark: null };
}

/** What the templates of `http` see in every request. */
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
