import { AppError } from '../../errors.ts';
import { parseTemplate, type TemplatePart } from '../../expressions/template-parts.ts';
import { BlockedUrlError } from '../../http/egress-blocked.ts';
import { checkHostSuffix, hostLabel, pathSegment, pathSegments } from '../../http/origin.ts';
import { textOf } from '../../json/json-text.ts';
import { createTextCache } from '../../work/text-cache.ts';

/** Throws `spec_invalid` if the expression has no value. */
export type FillHole = (expression: string) => Promise<unknown>;

/**
 * Encoded values cannot move the request: in the host they are one label (or, alone, a host name), in the path one
 * segment, in `{{{ }}}` several. Only a template that begins with its hole takes scheme and host from the value. Throws
 * `spec_invalid`, and `egress_blocked` for a URL with a user name or password.
 */
export async function renderUrl(template: string, fill: FillHole): Promise<URL> {
  const text = await expand(template, fill);
  const url = URL.parse(text);
  if (url === null) throw new AppError('spec_invalid', `The URL template "${template}" does not produce a URL.`);
  // The apparent host of such a URL is a user name: "http://127.0.0.1:80@other.example/".
  if (url.username !== '' || url.password !== '') throw new BlockedUrlError('userinfo', url);
  refuseDotSegments(text.replace(/^[a-z]+:\/\/[^/?#]*/i, ''), template);
  checkHostSuffix(url, hostSuffix(template));
  return url;
}

/**
 * The path of `base` comes first and its query is dropped; values are encoded as in {@link renderUrl}. Throws
 * `spec_invalid`, and `egress_blocked` for a base that is not http or https.
 */
export async function renderPath(template: string, base: URL, fill: FillHole): Promise<URL> {
  const text = await expand(template.startsWith('/') ? template : `/${template}`, fill);
  refuseDotSegments(text, template);
  const url = URL.parse(base.origin + base.pathname.replace(/\/$/, '') + text);
  // The origin of other schemes is not a URL.
  if (url === null) throw new BlockedUrlError('scheme', base);
  return url;
}

/** Every page expands the same few templates, and parsing costs a JSONata parse per hole; a whole spec has 1 MiB. */
const partsOf = createTextCache<readonly TemplatePart[]>(parseTemplate, { textsMax: 1_000, charactersMax: 2_000_000 });

async function expand(template: string, fill: FillHole): Promise<string> {
  let text = '';
  const parts = partsOf(template);
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) {
      text += part.literal;
      continue;
    }
    const value = textOf(await fill(part.expression));
    const next = parts[index + 1];
    const following = next === undefined ? '' : 'literal' in next ? next.literal : '{';
    text += encode(value, { before: text, following, raw: part.raw ?? false });
  }
  return text;
}

function encode(
  value: string,
  at: { readonly before: string; readonly following: string; readonly raw: boolean },
): string {
  const { before, following, raw } = at;
  if (before === '') return value.replace(/\/$/, '');
  if (/[?#]/.test(before)) return encodeURIComponent(value.toWellFormed());
  if (!/^[a-z]+:\/\/[^/]*$/i.test(before)) return raw ? pathSegments(value) : pathSegment(value);
  const isWholeHost = before.endsWith('://') && /^(:|\/|\?|$)/.test(following);
  return isWholeHost ? hostName(value) : hostLabel(value);
}

function hostName(value: string): string {
  const [, host = '', port = ''] = /^(.*?)(:\d{1,5})?$/.exec(value) ?? [];
  return host.split('.').map(hostLabel).join('.') + port;
}

/** The fixed end of the host after its last hole, or empty if the hole ends the host. */
function hostSuffix(template: string): string {
  const parts = partsOf(template);
  let suffix = '';
  for (const [index, part] of parts.entries()) {
    if (!('literal' in part)) {
      suffix = '';
      continue;
    }
    if (parts.length === 1) return '';
    const literal = index === 0 ? part.literal.replace(/^[a-z]+:\/\//i, '') : part.literal;
    const end = literal.search(/[/?#:]/);
    suffix += end === -1 ? literal : literal.slice(0, end);
    if (end !== -1) break;
  }
  return suffix;
}

/** URL parsing would silently resolve `.` and `..`, also as `%2e`, to another path. */
function refuseDotSegments(path: string, template: string): void {
  const [segments = ''] = path.split(/[?#]/, 1);
  if (!segments.split(/[/\\]/).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) return;
  throw new AppError(
    'spec_invalid',
    `The path of "${template}" has a "." or ".." segment, which leads to another path.`,
  );
}
