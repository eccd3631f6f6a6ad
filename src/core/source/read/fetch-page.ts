import { AppError } from '../../errors.ts';
import { resolveLink } from '../../http/origin.ts';
import type { HttpResponse, Meaning } from '../../model/http.ts';
import type { PagePosition } from '../../model/read-position.ts';
import type { Validators } from '../../model/validators.ts';
import { authRoot, createSigner } from '../auth/request-signer.ts';
import { bytesOfBody, decodeBody } from '../decode/decode-body.ts';
import { checkSuccess } from '../request/check-success.ts';
import type { Evaluate } from '../request/evaluate.ts';
import { interpretResponse } from '../request/interpret-response.ts';
import { NoResponseError } from '../request/no-response.ts';
import { type BuiltRequest, buildRequest, type RequestRoots } from '../request/request.ts';
import { type Sent, unkept } from '../request/response-cache.ts';
import { isConditional, isFresh, validatorsOf } from '../request/validators.ts';
import type { Source } from '../source.ts';
import { budgetLeft } from './budget-left.ts';
import { mergeChunks } from './field-chunks.ts';
import { type PageRecords, readRecords } from './page-records.ts';
import { nextPage, type PageItems, type ResponseRoots } from './paginate.ts';
import { peekNextPage } from './peek-next-page.ts';
import { pagedElements, type SelectedItems, selectItems } from './select-records.ts';
import { shrinkRule } from './smaller-page.ts';

export type Page = (ReadFacts & PageRecords) | (ReadFacts & Meaning);

interface ReadFacts {
  /** Hash of method, address and body. */
  readonly requestKey: string;
  /** Without credentials. */
  readonly url: string;
  /** The API's clock, or `null` if it sent none. */
  readonly serverDate: Date | null;
  readonly bodyBytes: number;
  /** See `budgetLeft`. */
  readonly budgetLeft: number;
  readonly validators: Validators | null;
  /** The request named the known version of the whole list, so a 304 means that it is unchanged. */
  readonly isConditional: boolean;
}

export interface PageRequest {
  readonly job?: Readonly<Record<string, unknown>>;
  readonly position: PagePosition;
  readonly window: RequestRoots['window'];
  readonly watermark: RequestRoots['watermark'];
  /** Whether the request carries the stored token of a token read. */
  readonly startsFromToken: boolean;
  /** The window was restarted because a page token had expired. */
  readonly isRestarted: boolean;
  /** The read starts over at its start. */
  readonly isAgain?: true;
}

export interface FetchOptions {
  readonly evaluate: Evaluate;
  readonly signal: AbortSignal;
  /** `chunk.fields` of each request of a page (field-chunks.ts), absent for one request without it. */
  readonly chunks?: readonly unknown[];
  /**
   * Called when a response arrives, before logging, checks and decoding, which wait for it. `next` gives the expected
   * next page of the window, or `null` while it is unknown. Must not throw, and is not called for cached responses.
   */
  readonly onResponse: (next: () => Promise<PagePosition | null>) => Promise<void>;
}

/**
 * Throws `AppError` (`source_rejected`, `auth_failed`, `page_limit`, `spec_invalid`, `egress_blocked`) and what the
 * client throws.
 */
export async function fetchPage(source: Source, page: PageRequest, options: FetchOptions): Promise<Page> {
  const parts: PagePart[] = [];
  for (const chunk of options.chunks ?? [undefined]) {
    const part = await fetchPart(source, page, { chunk, isFirst: parts.length === 0, options });
    if ('kind' in part) {
      if (part.kind === 'past_end' && parts.some(hasItems)) throw chunkPastEnd(page);
      return part;
    }
    parts.push(part);
    // Without records, other chunks have nothing to add fields to.
    if (part.selected.items.length === 0 && source.resource.fieldChunks?.onMissing !== 'keep') break;
  }
  const [first] = parts;
  if (first === undefined) throw new Error('A page has one request at least');
  const { fieldChunks } = source.resource;
  const selections = parts.map(({ selected }) => selected);
  const selected = fieldChunks ? mergeChunks(selections, fieldChunks) : first.selected;
  const elements = first.elements === first.selected.items ? selected.items : first.elements;
  const records = await readRecords(source, page, { ...first, selected, elements, evaluate: options.evaluate });
  if (fieldChunks?.onMissing === 'keep') await refuseMorePages(source, page, { parts, next: records.next, ...options });
  await first.keep({ isLast: records.next === null });
  const bodyBytes = parts.reduce((sum, { facts }) => sum + facts.bodyBytes, 0);
  return { ...first.facts, ...records, bodyBytes, budgetLeft: (parts.at(-1) ?? first).facts.budgetLeft };
}

/**
 * Throws `source_rejected` if the first chunk, which says where the read continues, has ended although another has a
 * further page.
 */
async function refuseMorePages(
  { resource: { pagination } }: Source,
  { position }: PageRequest,
  read: Pick<FetchOptions, 'evaluate'> & { readonly parts: readonly PagePart[]; readonly next: PagePosition | null },
): Promise<void> {
  if (read.next !== null) return;
  const { evaluate } = read;
  for (const part of read.parts.slice(1)) {
    const { roots, elements } = part;
    const page = {
      ...part,
      response: roots,
      items: elements,
      position,
      total: null,
      provesEnd: false,
      overlaps: false,
      evaluate,
    };
    if ((await nextPage(pagination, page)).position === null) continue;
    throw new AppError(
      'source_rejected',
      'One chunk of the fields has a further page and the first chunk has none, so its records would be passed over. Set fieldChunks.onMissing to "fail", or read all records with one request (pagination.kind "none").',
    );
  }
}

/** `null` without a primary key, or if only shaped records have it. */
function rawKeyOf({ primaryKey = [], response }: Source['resource']): readonly string[] | null {
  const isOfRecord = response.map !== undefined || primaryKey.some((path) => Object.hasOwn(response.addFields, path));
  return isOfRecord || primaryKey.length === 0 ? null : primaryKey;
}

interface PagePart {
  readonly facts: ReadFacts;
  readonly roots: ResponseRoots;
  readonly selected: SelectedItems;
  readonly elements: readonly unknown[];
  readonly resolveLink: PageItems['resolveLink'];
  readonly keep: Sent['keep'];
}

async function fetchPart(
  source: Source,
  page: PageRequest,
  part: { readonly chunk: unknown; readonly isFirst: boolean; readonly options: FetchOptions },
): Promise<PagePart | (ReadFacts & Meaning)> {
  const { chunk, isFirst, options } = part;
  const request = await buildRequest(source, { ...page, chunk, auth: await authRoot(source, options.signal) });
  if (isFresh(source, request.stored)) {
    await source.client.logSaved(request.http);
    return savedPage(request);
  }
  let sent: Sent;
  try {
    sent = await sendFor(source, page, { request, options: isFirst ? options : { ...options, ...quietly } });
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error;
    refuseLaterEmpty(error.meaning, { ...page, isFirst }, 'sent no response');
    return { ...noResponseFacts(request), ...error.meaning };
  }
  const { response, keep } = sent;
  const facts = factsOf(source, request, response);
  if (response.meaning) {
    refuseLaterEmpty(response.meaning, { ...page, isFirst }, `responded with ${response.status}`);
    return { ...facts, ...response.meaning };
  }
  const { params, resource } = source;
  if (options.signal.aborted) response.held?.release();
  options.signal.throwIfAborted();
  const body = await decodeBody(response, source);
  const { headers, status } = response;
  const roots: ResponseRoots = { body, headers, status, params, watermark: page.watermark };
  await checkSuccess(resource.response.successWhen, roots, options.evaluate);
  const read = { ...facts, bodyBytes: bytesOfBody(response) };
  const selected = selectItems(body, resource.response, rawKeyOf(resource));
  return {
    facts: read,
    roots,
    selected,
    elements: pagedElements(body, resource.response, selected.items),
    keep,
    ...linksIn(source, request, response),
  };
}

/** Only the first response of a page is searched for the next page. */
const quietly: Pick<FetchOptions, 'onResponse'> = { onResponse: async () => {} };

async function sendFor(
  source: Source,
  { position, isRestarted, watermark, startsFromToken }: PageRequest,
  sending: { readonly request: BuiltRequest; readonly options: FetchOptions },
): Promise<Sent> {
  const { request } = sending;
  const { signal, onResponse, evaluate } = sending.options;
  const shrink = shrinkRule(source.resource.pagination, position);
  const page = { index: position.index, startsFromToken, shrink, isProbe: position.isProbe ?? false };
  const classify = interpretResponse(source, { evaluate, page });
  const isSigned = source.resource.job?.signRequest ?? true;
  const options = { signal, ...(isSigned && { signer: createSigner(source, signal) }), classify };
  if (source.responses)
    return await source.responses.send(request.http, options, { isFirst: position.index === 1, isRestarted });
  const tellNext = (response: HttpResponse) =>
    onResponse(() => peekNextPage(source, { response, position, watermark, ...linksIn(source, request, response) }));
  return unkept(await source.client.send(request.http, { ...options, onResponse: tellNext }));
}

/** An empty page in the middle of a read is never its end: later pages would be lost silently. */
function refuseLaterEmpty(
  meaning: Meaning,
  { position, isFirst }: Pick<PageRequest, 'position'> & { readonly isFirst: boolean },
  did: string,
): void {
  if (meaning.kind !== 'empty' || (position.index === 1 && isFirst)) return;
  const why = !isFirst
    ? 'to a request for more fields of its records'
    : meaning.notModified
      ? 'although the request had no condition'
      : 'but the action "empty" is valid on the first page only';
  throw new AppError('source_rejected', `The API ${did} on page ${position.index}, ${why}.`);
}

/** The other fields of the first chunk's records would be missing silently. */
const chunkPastEnd = ({ position }: PageRequest): AppError =>
  new AppError(
    'source_unavailable',
    `The API responded to a request for more fields of the records of page ${position.index} as if that page did not exist: they changed while they were read. Start the run again.`,
  );

const hasItems = ({ selected }: PagePart): boolean => selected.items.length > 0;

const linksIn = (
  { http }: Source,
  { base }: Pick<BuiltRequest, 'base'>,
  response: HttpResponse,
): Pick<PageItems, 'resolveLink'> => ({
  resolveLink: (link) => resolveLink(link, response.url, { base, allowedHosts: http.allowedHosts }).href,
});

function factsOf(source: Source, request: BuiltRequest, response: HttpResponse): ReadFacts {
  const date = Date.parse(response.headers['date'] ?? '');
  return {
    requestKey: request.key,
    url: request.url,
    serverDate: Number.isNaN(date) ? null : new Date(date),
    bodyBytes: response.body.length,
    budgetLeft: budgetLeft(source, response),
    validators: validatorsOf(source, request.key, response),
    isConditional: isConditional(source, request.stored),
  };
}

/** Not requested, as an earlier response is still valid. */
const savedPage = (request: BuiltRequest): ReadFacts & Meaning => ({
  ...noResponseFacts(request),
  kind: 'empty',
  notModified: true,
});

const noResponseFacts = ({ key, url }: BuiltRequest): ReadFacts => ({
  requestKey: key,
  url,
  serverDate: null,
  bodyBytes: 0,
  budgetLeft: Number.POSITIVE_INFINITY,
  validators: null,
  isConditional: false,
});
