import { AppError } from '../../errors.ts';

const between = /[\s,]*/y;
const target = /<([^>]*)>\s*/y;
/** A name, and a value in quotes or up to the next delimiter. */
const parameter = /;\s*([^=;,\s"]*)\s*(?:=\s*(?:"((?:[^"\\]|\\[^])*)"|([^;,"]*)))?\s*/y;

/**
 * The address as written (RFC 8288), or `null`, in time that grows with the header alone. Throws `source_rejected` for
 * a malformed header.
 */
export function linkOf(header: string | undefined, relation: string): string | null {
  const text = header ?? '';
  const wanted = relation.toLowerCase();
  let found: string | null = null;
  const take = (form: RegExp, at: number): RegExpExecArray | null => {
    form.lastIndex = at;
    return form.exec(text);
  };
  for (let at = endOf(take(between, 0)); at < text.length; ) {
    const link = take(target, at);
    if (link === null) throw malformed();
    at = endOf(link);
    let relations: string | null = null;
    for (let next = take(parameter, at); next !== null; next = take(parameter, at)) {
      const [, name = '', quoted, plain = ''] = next;
      // The first of several counts (RFC 8288, 3.3).
      if (name.toLowerCase() === 'rel') relations ??= quoted?.replaceAll(/\\([^])/g, '$1') ?? plain;
      at = endOf(next);
    }
    if (relations?.toLowerCase().split(/\s+/).includes(wanted)) found ??= link[1] ?? null;
    if (at < text.length && text[at] !== ',') throw malformed();
    at = endOf(take(between, at));
  }
  return found;
}

const endOf = (match: RegExpExecArray | null): number => (match === null ? 0 : match.index + match[0].length);

const malformed = (): AppError =>
  new AppError(
    'source_rejected',
    'The Link header of the response is malformed, so the next page is unknown. Use another pagination kind.',
  );
