import { canonicalJson } from '../../core/json/canonical-json.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';

/** The response to a request as it is kept for those that repeat it. Both null: it is not. */
export interface KeptResponse {
  /** As JSON text. */
  readonly response: string | null;
  /** Without what the body of the request has too, and where that is, as JSON text. */
  readonly abridged: string | null;
}

/** Characters that are kept of a response. All but those that repeat a spec or large params have less. */
export const keptCharsMax = 8192;

/** Shorter parts stay in an abridged response. */
const partCharsMin = 256;
/** Levels of a response on which the parts of its body are looked for. */
const levels = 4;

type Path = readonly string[];

interface Abridged {
  /** The response with null in place of what its body has. */
  readonly rest: unknown;
  /** The places in the response, each with that of the same value in the body. */
  readonly same: readonly (readonly [response: Path, body: Path])[];
}

/**
 * What is kept of a response. A long one repeats its body, for example a spec, which comes again with each request that
 * has its key; so it costs a few hundred characters, however large a body is.
 */
export function keepResponse(made: unknown, body: unknown): KeptResponse {
  const response = JSON.stringify(made);
  if (response.length <= keptCharsMax) return { response, abridged: null };
  const rest: unknown = JSON.parse(response);
  const same = [...sameParts(rest, body, levels)];
  const short = same.reduce((whole, [place]) => withPart(whole, place, null), rest);
  const abridged = JSON.stringify({ rest: short, same } satisfies Abridged);
  return { response: null, abridged: abridged.length <= keptCharsMax ? abridged : null };
}

/** The response that was kept, for a request with the same body; null: it was not kept. */
export function keptResponse({ response, abridged }: KeptResponse, body: unknown): string | null {
  if (abridged === null) return response;
  const { rest, same } = JSON.parse(abridged) as Abridged;
  return JSON.stringify(same.reduce((whole, [place, from]) => withPart(whole, place, partAt(body, from)), rest));
}

/** The large parts of a response that are in its body: under the same name, or the body itself. */
function* sameParts(response: unknown, body: unknown, depth: number): Generator<readonly [Path, Path]> {
  if (depth === 0 || !isJsonObject(response) || !isJsonObject(body)) return;
  for (const [name, part] of Object.entries(response)) {
    if (JSON.stringify(part).length < partCharsMin) continue;
    const [candidate, from]: readonly [unknown, Path] = Object.hasOwn(body, name) ? [body[name], [name]] : [body, []];
    if (canonicalJson(part) === canonicalJson(candidate)) yield [[name], from];
    else
      for (const [place, within] of sameParts(part, candidate, depth - 1))
        yield [
          [name, ...place],
          [...from, ...within],
        ];
  }
}

const partAt = (value: unknown, path: Path): unknown =>
  path.reduce((part, name) => (isJsonObject(part) ? part[name] : undefined), value);

/** A copy with another value at a place that exists; the order of its properties stays. */
function withPart(value: unknown, [name, ...below]: Path, part: unknown): unknown {
  if (name === undefined) return part;
  return isJsonObject(value) ? { ...value, [name]: withPart(value[name], below, part) } : value;
}
