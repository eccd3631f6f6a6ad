import { type ParsedExpression, parseExpression } from './expression.ts';

export type ParseExpression = (text: string) => ParsedExpression;

/** Different expressions of one spec; each costs about 0.1 ms, and a document of 1 MiB could hold 60,000. */
const expressionsMax = 3000;
/** Characters parsed for one spec, tries at the end of a template hole included; 1 MiB takes about 0.5 s. */
const charactersMax = 4_194_304;

/** A parser for one spec: parses each text once, and all of them within a fixed effort. */
export function createParser(): ParseExpression {
  const parsed = new Map<string, ParsedExpression>();
  let characters = 0;
  return (text) => {
    const known = parsed.get(text);
    if (known) return known;
    characters += text.length;
    if (parsed.size >= expressionsMax || characters > charactersMax) return tooMany;
    const fresh = parseExpression(text);
    parsed.set(text, fresh);
    return fresh;
  };
}

const tooMany: ParsedExpression = {
  ok: false,
  message: `not checked: the spec has more than ${expressionsMax} different expressions, or too long ones; split it`,
};
