import type { Document } from './documented-specs.ts';

/** A document that was changed at one place, to its disadvantage or not. */
interface Mistake {
  /** Where it is, without indexes; with the kinds of the objects on the way. */
  readonly place: string;
  /** What was done there. */
  readonly what: string;
  readonly document: unknown;
}

/**
 * Documents with one change each: another type, another value, a key that is unknown, a key that is missing. Each change
 * comes once for each place of a spec, in the first document that has the place.
 */
export function* mistakesIn(documents: readonly Document[]): Generator<Mistake> {
  const seen = new Set<string>();
  for (const document of documents) {
    for (const { steps, place, value } of placesOf(document, [], '')) {
      for (const { what, changed } of changesOf(value)) {
        if (seen.has(`${place}: ${what}`)) continue;
        seen.add(`${place}: ${what}`);
        yield { place, what, document: withValue(document, steps, changed) };
      }
    }
  }
}

interface Place {
  readonly steps: readonly string[];
  readonly place: string;
  readonly value: unknown;
}

/** The values inside these are the author's own. */
const free = new Set(['schema', 'json', 'graphql', 'values', 'delivered', 'headers', 'query', 'params', 'body']);

function* placesOf(value: unknown, steps: readonly string[], place: string): Generator<Place> {
  yield { steps, place, value };
  if (typeof value !== 'object' || value === null || free.has(steps.at(-1) ?? '')) return;
  for (const [step, inner] of Object.entries(value)) {
    const { kind, mode = kind } = Object(inner);
    const name = `${Array.isArray(value) ? '*' : step}${typeof mode === 'string' ? `(${mode})` : ''}`;
    yield* placesOf(inner, [...steps, step], place === '' ? name : `${place}.${name}`);
  }
}

interface Change {
  readonly what: string;
  readonly changed: unknown;
}

function changesOf(value: unknown): readonly Change[] {
  const numbers = typeof value === 'number' ? [-1, 0, 1.5, 1e12] : [];
  const others = [5, 'no such value', '', true, null, [], {}, ...numbers]
    .map((changed) => ({ what: JSON.stringify(changed), changed }))
    .filter(({ what }) => what !== JSON.stringify(value));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return others;
  const fields = Object.entries(value);
  return [
    ...others,
    { what: 'an unknown key', changed: { ...value, unknown: 1 } },
    ...fields.map(([key]) => ({
      what: `without ${key}`,
      changed: Object.fromEntries(fields.filter(([name]) => name !== key)),
    })),
  ];
}

/** A copy of a document with another value at a place. */
function withValue(whole: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(whole))
    return whole.map((item, index) => (String(index) === step ? withValue(item, rest, value) : item));
  return { ...Object(whole), [step]: withValue(Reflect.get(Object(whole), step), rest, value) };
}
