import { type Component, isTrue, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { literalOf } from '../jinja/python.ts';
import { constant, pathValue, quote, type Scope, type Value } from '../jinja/value.ts';
import { asText } from '../objects.ts';
import { refuse } from '../refusal.ts';
import { conditionOf, evaluate, expressionOf } from '../render.ts';
import type { Records } from './records.ts';
import { injectOf, type Option, putOption, type RequestDraft, readOption } from './request-draft.ts';
import { nextLinkCode, noSlice, requestScope, responseScope } from './scopes.ts';

type Pagination = Readonly<Record<string, unknown>>;

interface Setting {
  readonly config: Config;
  readonly records: Records;
  readonly draft: RequestDraft;
}

/** Reads the paginator and puts the page size into the request. `null` when one request has all. */
export function readPagination(
  retriever: Component,
  setting: Setting,
  paginatorKey: 'paginator' | 'download_paginator' = 'paginator',
): Pagination | null {
  for (const key of ['pagination_reset', 'request_window_splitting']) {
    if (valueOf(retriever, key) !== undefined) refuse(pathAt(retriever, key), `${key} has no counterpart`);
  }
  const paginator = partOf(retriever, paginatorKey);
  if (paginator === null || paginator.type === 'NoPagination') return null;
  if (paginator.type !== 'DefaultPaginator') refuseType(paginator, 'write it as DefaultPaginator');
  const strategy = partOf(paginator, 'pagination_strategy');
  if (strategy === null) return refuse(paginator.path, 'it has no pagination_strategy');
  const size = readSize(strategy, setting);
  putSize(paginator, size, setting);
  const parts = { paginator, strategy, size, ...setting };
  switch (strategy.type) {
    case 'CursorPagination':
      return cursorPagination(parts);
    case 'OffsetIncrement':
      return offsetPagination(parts);
    case 'PageIncrement':
      return pagePagination(parts);
    default:
      return refuseType(strategy, 'CursorPagination, OffsetIncrement and PageIncrement are converted');
  }
}

interface Parts extends Setting {
  readonly paginator: Component;
  readonly strategy: Component;
  readonly size: Value | null;
}

/** Makes pages smaller where the response says so. Refuses paginations that a changed size would break. */
export function withShrink(
  retriever: Component,
  pagination: Pagination | null,
  when: Readonly<Record<string, unknown>> | null,
): Pagination | null {
  const reduction = partOf(retriever, 'page_size_reduction');
  if (when === null) return pagination;
  const at = pathAt(retriever, 'page_size_reduction');
  if (reduction === null) return refuse(retriever.path, 'smaller pages are requested without page_size_reduction');
  const strategy = partOf(partOf(retriever, 'paginator') ?? retriever, 'pagination_strategy');
  const kind = pagination?.['kind'];
  const counts = kind === 'offset' || (kind === 'cursor' && strategy?.type === 'CursorPagination');
  if (pagination === null || !counts)
    return refuse(at, 'pages become smaller with CursorPagination, or OffsetIncrement that injects its first offset');
  const code =
    strategy === null
      ? ''
      : `${asText(valueOf(strategy, 'stop_condition'))} ${asText(valueOf(strategy, 'cursor_value'))}`;
  if (kind === 'cursor' && /\bpage_size\b|\bcount\b|\blength\b|last_page_size/.test(code))
    return refuse(at, 'the last page is known by its size, which changes');
  const min = valueOf(reduction, 'minimum_page_size');
  return { ...pagination, shrink: { when, ...(typeof min === 'number' ? { min } : {}) } };
}

function readSize(strategy: Component, { config }: Setting): Value | null {
  const size = valueOf(strategy, 'page_size');
  const at = pathAt(strategy, 'page_size');
  if (size === undefined || size === '') return null;
  if (typeof size === 'number') return constant(size);
  if (typeof size !== 'string') return refuse(at, 'expected a number');
  const scope = requestScope({ component: strategy, config, slice: noSlice });
  const value = literalOf(evaluate(size, scope, at));
  if (value.constant && typeof value.constant.value !== 'number') return refuse(at, 'expected a number');
  return value;
}

const sizeOf = (size: Value | null): number | undefined => {
  const known = size?.constant?.value;
  return typeof known === 'number' && Number.isInteger(known) && known >= 1 && known <= 10_000 ? known : undefined;
};

function putSize(paginator: Component, size: Value | null, { config, draft }: Setting): void {
  const option = partOf(paginator, 'page_size_option');
  if (option === null || size === null || hasNoName(option)) return;
  const value = sizeOf(size) === undefined ? size : pathValue('page.size', 'number');
  putOption(draft, readOption(option, config), value, option.path);
}

/** The CDK sends `?=100`, which no API reads. */
const hasNoName = (option: Component): boolean =>
  valueOf(option, 'field_name') === '' && textOf(option, 'inject_into') === 'request_parameter';

/** Where the position of a page goes; `path` when it is the address of the page. */
function readTokenOption(paginator: Component, config: Config): Option | 'path' | null {
  const option = partOf(paginator, 'page_token_option');
  if (option === null) return null;
  return option.type === 'RequestPath' ? 'path' : readOption(option, config);
}

const withSize = (size: Value | null): Pagination => {
  const known = sizeOf(size);
  return known === undefined ? {} : { size: known };
};

function tokenScope({ strategy, config, records, size }: Parts): Scope {
  return responseScope(
    { component: strategy, config },
    {
      last_record: { ...pathValue('last', 'object') },
      ...(records.count === null ? {} : { last_page_size: { kind: 'number', code: records.count } }),
      ...(size ? { page_size: size } : {}),
    },
  );
}

function cursorPagination(parts: Parts): Pagination | null {
  const { strategy, paginator, records, config, size } = parts;
  const scope = tokenScope(parts);
  const at = pathAt(strategy, 'cursor_value');
  const value = evaluate(textOf(strategy, 'cursor_value') ?? '', scope, at);
  refuseChanged(value.code, records, at);
  if (value.constant) return refuse(at, 'the token of the next page does not depend on the response');
  const stop = stopCondition(parts, scope);
  if (stop === true) return null;
  const common = { ...withSize(size), ...(stop === null ? {} : { stopWhen: stop }) };
  const option = readTokenOption(paginator, config);
  if (option === 'path') {
    if (value.code === nextLinkCode && value.kind === 'text') return { kind: 'link_header', ...common };
    return { kind: 'next_url', next: linkCode(value, parts.draft.query), ...common };
  }
  const token = option?.in === 'body' && !option.form ? literalOf(value) : value;
  return { kind: 'cursor', next: tokenCode(token), inject: inject(parts, option), ...common };
}

/** `true` when the first page is always the last; `null` when only the token decides. */
function stopCondition({ strategy, records }: Parts, scope: Scope): string | true | null {
  const condition = valueOf(strategy, 'stop_condition');
  if (condition === undefined || condition === '') return null;
  const at = pathAt(strategy, 'stop_condition');
  const value = conditionOf(condition, scope, at);
  refuseChanged(value.code, records, at);
  if (value.constant) return value.constant.value === true ? true : null;
  return expressionOf(value);
}

/** Refuses changed fields, because the last record is seen as the API sent it. */
function refuseChanged(code: string, { changed }: Records, at: string): void {
  for (const [, name = ''] of code.matchAll(/\blast\.`?([\w-]+)/g)) {
    if (changed.has('*') || changed.has(name))
      refuse(at, `it reads ${name} of the last record, which the transformations of the stream change`);
  }
}

/** A token that Python takes for false ends the read. */
function tokenCode(value: Value): string {
  const { code } = value;
  return value.plain === true && code.length < 80
    ? `(${code} ? ${code} : null)`
    : `($token := ${code}; $token ? $token : null)`;
}

/**
 * Adds the parameters of the request that the address lacks, because the CDK sends them with every page. Parameters of
 * the window and the partition are unknown here; an address that continues a list names them itself.
 */
function linkCode(value: Value, query: Readonly<Record<string, unknown>>): string {
  const added = Object.entries(query).flatMap(([name, template]) => {
    const code = parameterCode(template);
    if (code === null) return [];
    const [plain, encoded] = [quote(`${name}=`), quote(`${encodeURIComponent(name)}=`)];
    const has = plain === encoded ? `$contains($u, ${plain})` : `$contains($u, ${plain}) or $contains($u, ${encoded})`;
    return [
      `$u := ${has} ? $u : $u & ($contains($u, "?") ? "&" : "?") & ${encoded} & $encodeUrlComponent($string(${code}))`,
    ];
  });
  if (added.length === 0) return tokenCode(value);
  return `($u := ${value.code}; $u ? (${added.join('; ')}; $u) : null)`;
}

/** JSONata for a parameter that expressions over a response can compute too, else `null`. */
function parameterCode(template: unknown): string | null {
  if (typeof template === 'number' || typeof template === 'boolean') return quote(String(template));
  if (typeof template !== 'string') return null;
  if (!template.includes('{{')) return quote(template);
  const code = /^\{\{ (page\.size|params\.\w+) \}\}$/.exec(template)?.[1] ?? null;
  return code;
}

/** Without an option the templates of the request carry the token; a header without meaning then carries it too. */
function inject({ paginator, draft }: Parts, option: Option | null | 'path'): Pagination {
  if (option !== null && option !== 'path') return injectOf(draft, option, pathAt(paginator, 'page_token_option'));
  const texts = JSON.stringify([draft.base, draft.path, draft.query, draft.headers, draft.body]);
  if (!texts.includes('page.cursor'))
    refuse(paginator.path, 'nothing in the request carries the token of the next page');
  return { in: 'header', name: 'X-Page-Token' };
}

function offsetPagination(parts: Parts): Pagination {
  const { strategy, size } = parts;
  const option = numberOption(parts);
  const known = sizeOf(size);
  const first = isTrue(strategy, 'inject_on_first_request');
  const place = inject(parts, option);
  if (first && known !== undefined) return { kind: 'offset', size: known, inject: place };
  if (first) defaultPosition(parts, option, 0);
  const stop = size === null ? '$n = 0' : `$n = 0 or $n < ${size.code}`;
  const next = `($n := ${countIn(parts)}; ${stop} ? null : ($exists(page.cursor) ? page.cursor : 0) + $n)`;
  return { kind: 'cursor', ...withSize(size), next, inject: place };
}

function countIn({ records, paginator }: Parts): string {
  return records.count ?? refuse(paginator.path, 'the records of a path with `*` inside are not counted');
}

function pagePagination(parts: Parts): Pagination {
  const { strategy, size } = parts;
  const option = numberOption(parts);
  const start = valueOf(strategy, 'start_from_page') ?? 0;
  if (typeof start !== 'number') return refuse(pathAt(strategy, 'start_from_page'), 'expected a number');
  const first = isTrue(strategy, 'inject_on_first_request');
  const place = inject(parts, option);
  if (first && (start === 0 || start === 1) && (size === null || sizeOf(size) !== undefined)) {
    return { kind: 'page', ...withSize(size), start, inject: place };
  }
  if (first) defaultPosition(parts, option, start);
  const stop = size === null ? '$n = 0' : `$n = 0 or $n < ${size.code}`;
  const next = `($n := ${countIn(parts)}; ${stop} ? null : ($exists(page.cursor) ? page.cursor : ${start}) + 1)`;
  return { kind: 'cursor', ...withSize(size), next, inject: place };
}

function numberOption({ paginator, config }: Parts): Option | null {
  const option = readTokenOption(paginator, config);
  return option === 'path' ? refuse(pathAt(paginator, 'page_token_option'), 'a number is no address') : option;
}

/** The first request carries the position too; later ones replace it. */
function defaultPosition({ draft, paginator }: Parts, option: Option | null, start: number): void {
  if (option !== null) putOption(draft, option, constant(start), pathAt(paginator, 'page_token_option'));
}
