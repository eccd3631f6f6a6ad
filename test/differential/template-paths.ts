import { isRecord, type JsonRecord } from './json.ts';

/** Paths that a template reads: `response.a.b`, `response['a']`, `response.get('a', {})`. */
export function pathsIn(template: string, root: string): readonly (readonly string[])[] {
  const pattern = new RegExp(
    `\\b${root}((?:\\.get\\(\\s*['"][^'"]+['"][^)]*\\)|\\[['"][^'"]+['"]\\]|\\.\\w+(?!\\w*\\())+)`,
    'g',
  );
  const reads = [...template.matchAll(pattern)].map(([, steps = '']) =>
    [...steps.matchAll(/\.get\(\s*['"]([^'"]+)|\[['"]([^'"]+)|\.(\w+)/g)].map(
      ([, got, key, name]) => got ?? key ?? name ?? '',
    ),
  );
  const asked = [...template.matchAll(new RegExp(`['"](\\w+)['"]\\s+(?:not\\s+)?in\\s+${root}\\b(?![.\\[])`, 'g'))].map(
    ([, name = '']) => [name],
  );
  return [...reads, ...asked];
}

/** A value inside objects of these names. */
export function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}

/** Without what stands there. A null token is left out: templates test whether it is there. */
export function setAt(body: JsonRecord, names: readonly string[], value: unknown): void {
  let at: Record<string, unknown> = body;
  for (const name of names.slice(0, -1)) {
    const next = at[name];
    if (Array.isArray(next)) return;
    const inner = isRecord(next) ? next : {};
    at[name] = inner;
    at = inner;
  }
  const last = names.at(-1) ?? '';
  if (value === null) delete at[last];
  else if (!Object.hasOwn(at, last)) at[last] = value;
}
