import { LRUCache } from 'lru-cache';
import { secretCharsMin, spellingsOf } from './secret-spellings.ts';
import { createSpellingSearch, partCharsMax, type Span, type SpellingSearch } from './spelling-search.ts';
import { urlCharsMax } from './url-limit.ts';

/** Masks secrets by name (`token=…`, `"apiKey": …`) and by value. */
export interface Redactor {
  /** Keeps the last 16 secrets: a run that signs each request would otherwise search every page for all its signatures. */
  add(secret: string): void;
  /** Unlike added secrets, these are never dropped. */
  keep(secrets: readonly string[]): void;
  /** Masks before the cut, which covers a secret on the edge; no more of `text` is read than the edge needs. */
  text(text: string, charsMax?: number): string;
  /** Masks only known secrets and ignores names: a customer's record keeps its other fields. */
  values(text: string): string;
  /** Without user and fragment, {@link urlCharsMax} at most; values of query parameters with a telling name are masked. */
  url(url: URL): string;
  requestHeaders(headers: Readonly<Record<string, string>>): Record<string, string>;
  responseHeaders(headers: Readonly<Record<string, string>>): Record<string, string>;
}

const addedMax = 16;

/** Characters read beyond a cut: the most by which a masked part may extend over it. */
export const edgeChars = partCharsMax;

const mask = '[redacted]';

export function createRedactor(secrets: readonly string[]): Redactor {
  const kept = new Set<string>();
  const added = new LRUCache<string, ReadonlySet<string>>({ max: addedMax });
  let keptSpans = searchFor([]);
  let addedSpans = searchFor([]);

  const keep = (more: readonly string[]): void => {
    const fresh = more.filter((secret) => !kept.has(secret));
    if (fresh.length === 0) return;
    for (const secret of fresh) kept.add(secret);
    keptSpans = searchFor([...kept].map(spellingsOf));
  };
  const add = (secret: string): void => {
    if (secret.length < secretCharsMin || kept.has(secret)) return;
    // This look-up makes a known secret the most recent one.
    if (added.get(secret) !== undefined) return;
    added.set(secret, spellingsOf(secret));
    addedSpans = searchFor([...added.values()]);
  };
  const valueSpans = (text: string): Span[] => [...keptSpans(text), ...addedSpans(text)];
  keep(secrets);

  const redact = (text: string, charsMax = text.length): string => {
    const read = text.slice(0, charsMax + edgeChars);
    return maskSpans(read, [...namedSpans(read), ...valueSpans(read)], charsMax);
  };

  return {
    add,
    keep,
    text: redact,
    values: (text) => maskSpans(text, valueSpans(text), text.length),
    url: (url) => redact(`${url.protocol}//${url.host}${url.pathname}${url.search}`, urlCharsMax),
    requestHeaders: (headers) => mapValues(headers, (name, value) => (plainHeaders.has(name) ? redact(value) : mask)),
    responseHeaders: ({ 'set-cookie': _cookie, ...headers }) =>
      mapValues(headers, (name, value) => (tellingName.test(name) ? mask : redact(value))),
  };
}

const searchFor = (spellings: readonly ReadonlySet<string>[]): SpellingSearch =>
  createSpellingSearch(new Set(spellings.flatMap((one) => [...one])));

const telling = '(?i:key|token|secret|sig|auth|pass|code|session|jwt|credential)';
const tellingName = new RegExp(telling);
// The lookahead scans each name once, so that no text takes more than linear time.
const property = new RegExp(String.raw`"(?=[^"\\]*?${telling})[^"\\]*"\s*:(?!\s*(?:null|true|false)\b)\s*`, 'g');
const parameter = new RegExp(String.raw`(?:^|[?&])(?=[^=&?#\s"]*?${telling})[^=&?#\s"]*=`, 'g');
const parameterEnd = /[&#\s"'<>]/g;

const plainHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-length',
  'content-type',
  'if-none-match',
  'user-agent',
]);

function namedSpans(text: string): Span[] {
  if (!tellingName.test(text)) return [];
  const properties = spansBehind(text, property, (start) =>
    text[start] === '"' ? { start: start + 1, end: stringEnd(text, start) } : { start, end: valueEnd(text, start) },
  );
  const parameters = spansBehind(text, parameter, (start) => {
    parameterEnd.lastIndex = start;
    return { start, end: parameterEnd.exec(text)?.index ?? text.length };
  });
  return [...properties, ...parameters];
}

/** Matches within an already masked value are skipped. */
function spansBehind(text: string, name: RegExp, valueAt: (start: number) => Span): Span[] {
  const spans: Span[] = [];
  let masked = 0;
  for (const match of text.matchAll(name)) {
    const start = match.index + match[0].length;
    if (start < masked) continue;
    const span = valueAt(start);
    spans.push(span);
    masked = span.end;
  }
  return spans;
}

/** The length of the text if no quote closes the string. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/** A truncated value ends with the text. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '"') at = stringEnd(text, at);
    else if ('{['.includes(char)) depth += 1;
    else if ('}],'.includes(char)) {
      if (depth === 0) return at;
      if (char !== ',') depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** Overlapping spans share one mask. */
function maskSpans(text: string, spans: Span[], charsMax: number): string {
  let masked = '';
  let from = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start >= charsMax) break;
    if (end <= from || start === end) continue;
    if (start >= from && (start > from || from === 0)) masked += `${text.slice(from, start)}${mask}`;
    from = end;
  }
  return from >= charsMax ? masked : masked + text.slice(from, charsMax);
}

function mapValues(
  headers: Readonly<Record<string, string>>,
  change: (name: string, value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(name, value)]));
}
