import type { Component } from '../component.ts';
import type { Config } from '../config/config.ts';
import { constant, missing, pathValue, type Scope, step, type Value } from '../jinja/value.ts';

export interface Slice {
  /** Fields of `stream_partition` and `stream_interval`, in requests. */
  readonly inRequest: ReadonlyMap<string, Value>;
  /** The same over a record. */
  readonly inRecord: ReadonlyMap<string, Value>;
  /** Whether all names are known, so any other is missing; by default there may be others. */
  readonly isWhole?: boolean;
  /** `stream_state` in requests, by cursor; absent if nothing has its values. */
  readonly state?: ReadonlyMap<string, Value>;
}

export const noSlice: Slice = { inRequest: new Map(), inRecord: new Map() };

interface ScopeParts {
  readonly component: Component;
  readonly config: Config;
  readonly slice: Slice;
}

const none = constant(null);

const parametersOf = ({ parameters }: Component): Value => constant(parameters);

const scopeOf = (place: string, names: Readonly<Record<string, Value>>): Scope => ({
  place,
  name: (name) => (Object.hasOwn(names, name) ? (names[name] ?? null) : null),
});

export function requestScope(
  { component, config, slice }: ScopeParts,
  more: Readonly<Record<string, Value>> = {},
): Scope {
  const fields = sliceValue(slice.inRequest, (name) => slice.isWhole === true && !slice.inRecord.has(name));
  return scopeOf('in a request', {
    config: config.value('plain'),
    parameters: parametersOf(component),
    stream_slice: fields,
    stream_partition: fields,
    stream_interval: fields,
    next_page_token: tokenValue,
    ...(slice.state === undefined ? {} : { stream_state: stateValue(slice.state) }),
    ...more,
  });
}

/** The names that are known before a stream is read: in start times and lists of partitions. */
export function startScope({ component, config }: Omit<ScopeParts, 'slice'>): Scope {
  return scopeOf('before a stream is read', {
    config: config.value('plain'),
    parameters: parametersOf(component),
    stream_slice: none,
    stream_partition: none,
    stream_interval: none,
  });
}

export function authScope({ component, config }: Omit<ScopeParts, 'slice'>): Scope {
  return scopeOf('in an authenticator', {
    config: config.value('plain'),
    parameters: parametersOf(component),
    stream_slice: none,
    stream_partition: none,
    stream_interval: none,
    next_page_token: none,
  });
}

export function recordScope(
  { component, config, slice }: ScopeParts,
  record: string,
  more: Readonly<Record<string, Value>> = {},
): Scope {
  const fields = sliceValue(slice.inRecord, (name) => slice.isWhole === true && !slice.inRequest.has(name));
  return scopeOf('over a record', {
    config: config.value('variable'),
    parameters: parametersOf(component),
    record: pathValue(record, 'object'),
    stream_slice: fields,
    stream_partition: fields,
    stream_interval: fields,
    ...more,
  });
}

export function responseScope(
  { component, config }: Omit<ScopeParts, 'slice'>,
  more: Readonly<Record<string, Value>> = {},
): Scope {
  return scopeOf('over a response', {
    config: config.value('plain'),
    parameters: parametersOf(component),
    response: pathValue('body'),
    headers: headersValue,
    stream_slice: none,
    stream_partition: none,
    stream_interval: none,
    ...more,
  });
}

/** `next_page_token['next_page_token']`; None for the first page. */
const tokenValue: Value = {
  kind: 'any',
  code: 'page.cursor',
  absent: 'none',
  plain: true,
  member: (key) => (key === 'next_page_token' ? pathValue('page.cursor') : null),
};

function sliceValue(fields: ReadonlyMap<string, Value>, isMissing: (name: string) => boolean): Value {
  return {
    kind: 'object',
    // A slice with fields is true.
    code: fields.size === 0 ? '{}' : '{"slice": true}',
    member: (key) =>
      key === 'partition' || key === 'cursor_slice'
        ? sliceValue(fields, isMissing)
        : (fields.get(key) ?? (isMissing(key) ? missing : null)),
  };
}

const stateValue = (fields: ReadonlyMap<string, Value>): Value => ({
  kind: 'object',
  code: '{}',
  member: (key) => fields.get(key) ?? missing,
});

const headersValue: Value = {
  kind: 'object',
  code: 'headers',
  member: (key) => {
    const name = key.toLowerCase();
    if (name === 'link') return linksValue;
    const part = step(name);
    return part === null ? null : { ...pathValue(`headers.${part}`), kind: 'text' };
  },
};

/** `headers['link']` is the header by relation. */
const linksValue: Value = {
  kind: 'object',
  code: 'headers.link',
  member: (relation) => (/^[A-Za-z0-9_-]+$/.test(relation) ? linkValue(relation) : missing),
};

/** JSONata for the address of a relation; nothing where the header has none. */
const linkCode = (relation: string): string =>
  `$match(headers.link, /<([^>]*)>[^,]*;\\s*rel="?${relation}"?/).groups[0]`;

/** The address of the next page, which has its own pagination kind. */
export const nextLinkCode = linkCode('next');

const linkParameter = (relation: string, name: string): string =>
  `$match($match(headers.link, /<[^>]*>[^<]*rel="?${relation}"?[^<]*/).match, /;\\s*${name}="?([^";,]*)"?/).groups[0]`;

const linkValue = (relation: string): Value => ({
  kind: 'object',
  code: linkCode(relation),
  member: (key) => {
    if (key === 'rel') return constant(relation);
    if (!/^[A-Za-z0-9_-]+$/.test(key)) return missing;
    const code = key === 'url' ? linkCode(relation) : linkParameter(relation, key);
    return { kind: 'text', code, plain: true };
  },
});
