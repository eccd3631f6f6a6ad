import { parseTemplate } from '../../../expressions/template-parts.ts';
import { type Component, isTrue, pathAt } from '../component.ts';
import { refuse } from '../refusal.ts';
import type { RequestDraft } from './request-draft.ts';

interface Added {
  readonly query: readonly string[];
  readonly headers: readonly string[];
  readonly isInBody: boolean;
}

export function addedTo(request: RequestDraft, put: () => void): Added {
  const [query, headers, body] = [{ ...request.query }, { ...request.headers }, JSON.stringify(request.body)];
  put();
  return {
    query: Object.keys(request.query).filter((name) => request.query[name] !== query[name]),
    headers: Object.keys(request.headers).filter((name) => request.headers[name] !== headers[name]),
    isInBody: JSON.stringify(request.body) !== body,
  };
}

/** Makes only the first page carry the additions; refuses those that cannot be left out. */
export function leaveOutLater(
  retriever: Component,
  {
    request,
    added,
    pagination,
  }: {
    readonly request: RequestDraft;
    readonly added: Added;
    readonly pagination: Readonly<Record<string, unknown>> | null;
  },
): void {
  const key = 'ignore_stream_slicer_parameters_on_paginated_requests';
  const kind = pagination?.['kind'];
  // The address of a later page already has its parameters.
  if (!isTrue(retriever, key) || pagination === null || kind === 'next_url' || kind === 'link_header') return;
  if (added.query.length + added.headers.length === 0 && !added.isInBody) return;
  if (kind !== 'cursor' || added.isInBody)
    refuse(pathAt(retriever, key), 'the requests of later pages carry the same parameters as the first');
  for (const name of added.query) request.query[name] = onFirstPage(request.query[name]);
  for (const name of added.headers) request.headers[name] = onFirstPage(request.headers[name]);
}

function onFirstPage(template: unknown): string {
  const parts = typeof template === 'string' ? parseTemplate(template) : [{ literal: template }];
  const codes = parts.map((part) => ('expression' in part ? part.expression : JSON.stringify(part.literal)));
  return `{{ $exists(page.cursor) ? null : ${codes.length === 1 ? codes[0] : `(${codes.map((code) => `(${code})`).join(' & ')})`} }}`;
}
