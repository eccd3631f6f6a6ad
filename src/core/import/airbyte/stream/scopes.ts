import type { Component } from '../component.ts';
import type { Config } from '../config/config.ts';
import { constant, missing, pathValue, type Scope, step, type Value } from '../jinja/value.ts';

/** The partition and the window of a stream, as its expressions see them. */
export interface Slice {
  /** Fields of `stream_partition` and `stream_interval`, in requests. */
  readonly inRequest: ReadonlyMap<string, Value>;
  /** The same over a record. */
  readonly inRecord: ReadonlyMap<string, Value>;
  /** No other names exist: one that is not among them is missing. Absent: there may be others. */
  readonly isWhole?: boolean;
  /** `stream_state` in requests, by cursor. Absent: nothing has its values. */
  readonly state?: ReadonlyMap<string, Value>;
}

/** A slice without fields. */
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

/** The names of requests. */
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

/** The names that are known before a stream is read: of start times, of lists of partitions. */
export function startScope({ component, config }: Omit<ScopeParts, 'slice'>): Scope {
  return scopeOf('before a stream is read', {
    config: config.value('plain'),
    parameters: parametersOf(component),
    stream_slice: none,
    stream_partition: none,
    stream_interval: none,
  });
}

/** The names of authenticators. */
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

/** The names over a record, whose code is `record`. */
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

/** The names over a response. */
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

/** `next_page_token['next_page_token']`; of the first page there is none. */
const tokenValue: Value = {
  kind: 'any',
  code: 'page.cursor',
  // The first page has None.
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

/** JSONata of the address of a relation; nothing where the header has none. */
const linkCode = (relation: string): string =>
  `$match(headers.link, /<([^>]*)>[^,]*;\\s*rel="?${relation}"?/).groups[0]`;

/** What {@link linkCode} of `next` is, for a pagination kind of its own. */
export const nextLinkCode = linkCode('next');

/** JSONata of a parameter of the link of a relation; nothing where it has none. */
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
