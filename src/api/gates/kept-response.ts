import { canonicalJson } from '../../core/json/canonical-json.ts';
import { isJsonObject } from '../../core/json/is-json-object.ts';

/** A response as stored for repetitions. Both are `null` if it is not kept. */
export interface KeptResponse {
  readonly response: string | null;
  /** Without the parts that the request body has too, but with their places. */
  readonly abridged: string | null;
}

/** Only responses that repeat a spec or large params are longer. */
export const keptCharsMax = 8192;

/** Shorter parts stay in an abridged response. */
const partCharsMin = 256;
/** Levels of a response searched for parts of the request body. */
const levels = 4;

type Path = readonly string[];

interface Abridged {
  readonly rest: unknown;
  readonly same: readonly (readonly [response: Path, body: Path])[];
}

/**
 * A long response repeats its body, for example a spec, and every repetition of the request sends the body again.
 * Storing places instead costs a few hundred characters at any size.
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

export function keptResponse({ response, abridged }: KeptResponse, body: unknown): string | null {
  if (abridged === null) return response;
  const { rest, same } = JSON.parse(abridged) as Abridged;
  return JSON.stringify(same.reduce((whole, [place, from]) => withPart(whole, place, partAt(body, from)), rest));
}

/** Large parts that the request body also has: under the same name, or the body itself. */
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

/** Keeps the order of properties. */
function withPart(value: unknown, [name, ...below]: Path, part: unknown): unknown {
  if (name === undefined) return part;
  return isJsonObject(value) ? { ...value, [name]: withPart(value[name], below, part) } : value;
}
