import { compile, joinedText } from './jinja/compile.ts';
import { condition, literal, literalOf, shown, text } from './jinja/python.ts';
import { JinjaError, type Node } from './jinja/syntax.ts';
import { parseTemplate } from './jinja/template.ts';
import { checkLength, constant, lengthOf, quote, type Scope, type Value } from './jinja/value.ts';
import { refuse } from './refusal.ts';

/** JSON whose texts are templates; `undefined` sends nothing. */
export type Rendered = unknown;

/** The value of a template before the CDK reads it as a literal. */
export function evaluate(template: string, scope: Scope, path: string): Value {
  return guarded(template, path, () => {
    const parsed = parseTemplate(template);
    if (parsed.kind === 'literal') return constant(parsed.text);
    if (parsed.kind === 'expression') return compile(parsed.node, scope);
    return joinedText(parsed.parts.map((part) => compile(part, scope)));
  });
}

function compiled(parts: readonly Node[], scope: Scope): readonly Value[] {
  const values = parts.map((part) => compile(part, scope));
  checkLength(lengthOf(values), 0);
  return values;
}

function guarded<Result>(template: string, path: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    return refuse(
      path,
      `the expression ${error.message} (at character ${error.at + 1} of ${quote(template.slice(0, 200))})`,
    );
  }
}

export function templateOf(value: Value): unknown {
  if (value.constant) return escaped(value.constant.value);
  return `{{ ${value.code} }}`;
}

/** Escapes a text of the manifest that would be a template here. */
const escaped = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('{{') ? `{{ ${quote(value)} }}` : value;

/** JSONata of a value; an empty text if it is missing. */
export const expressionOf = (value: Value): string =>
  value.constant?.value === undefined && value.constant ? '""' : value.code;

/** Refuses a text that becomes a list in the CDK once its values are in it: it cannot be read here. */
function refuseListText(template: string, value: Value, path: string): void {
  if (!value.constant && /^\s*[[(]/.test(template)) {
    refuse(path, 'a list that is written as a text with expressions in it has no counterpart; write one expression');
  }
}

/** Removes the quotes around a text, unless it has quotes inside. */
function unquoted(value: Value): Value {
  const { code } = text(value);
  return { kind: 'text', code: `($q := ${code}; $contains($q, /['\\\\\\n]/) ? "'" & $q & "'" : $q)`, final: true };
}

/** A query parameter; `undefined` for an empty one. */
export function queryValue(template: unknown, scope: Scope, path: string): Rendered {
  if (typeof template === 'boolean') return shown(template);
  if (typeof template !== 'string') return template ?? undefined;
  const quoted = /^'([^'\\{]*\{\{.*\}\}[^'\\}]*)'$/s.exec(template)?.[1];
  const value = quoted === undefined ? evaluate(template, scope, path) : unquoted(evaluate(quoted, scope, path));
  refuseListText(template, value, path);
  if (value.constant) {
    const known = value.constant.value;
    if (known === undefined || known === null || known === '') return undefined;
    if (typeof known === 'string') {
      const read = literal(known);
      return Array.isArray(read) ? read.map(shown) : escaped(known);
    }
    return Array.isArray(known) ? known.map(shown) : escaped(shown(known));
  }
  if (value.plain === true && (value.kind === 'text' || value.kind === 'number')) return templateOf(value);
  if (value.kind === 'number' || value.kind === 'list') {
    // The other branch of a conditional may be an empty text.
    return value.plain === true ? templateOf(value) : `{{ ($v := ${value.code}; $v = "" ? null : $v) }}`;
  }
  if (value.kind === 'any') {
    return `{{ ($v := ${value.code}; $v = "" ? null : $v = true ? "True" : $v = false ? "False" : $v) }}`;
  }
  return `{{ ($v := ${text(value).code}; $v = "" ? null : $v) }}`;
}

/** A header, always a text; `undefined` for an empty one. */
export function headerValue(template: unknown, scope: Scope, path: string): string | undefined {
  if (typeof template !== 'string') return template === null || template === undefined ? undefined : shown(template);
  const value = evaluate(template, scope, path);
  if (value.constant) {
    const known = typeof value.constant.value === 'string' ? literal(value.constant.value) : value.constant.value;
    if (known === undefined || known === null || known === '') return undefined;
    return String(escaped(shown(known)));
  }
  if (value.plain === true && value.kind === 'text') return `{{ ${value.code} }}`;
  if (value.kind === 'text') return `{{ ($v := ${value.code}; $v = "" ? null : $v) }}`;
  return `{{ ($v := ${text(value).code}; $v in ["", "None"] ? null : $v) }}`;
}

/**
 * `undefined` leaves the value out. A text that the CDK reads as a literal, such as `true`, becomes that literal;
 * objects and lists are rendered inside.
 */
export function jsonValue(template: unknown, scope: Scope, path: string): Rendered {
  if (typeof template === 'string') {
    const raw = evaluate(template, scope, path);
    if (!raw.constant && /^\s*[[{](?![{%#])/.test(template)) return structure(template, scope, path);
    refuseListText(template, raw, path);
    const value = literalOf(raw);
    if (value.constant) return value.constant.value === undefined ? undefined : escapedDeep(value.constant.value);
    return `{{ ${value.code} }}`;
  }
  if (Array.isArray(template)) return template.map((item, index) => jsonValue(item, scope, `${path}.${index}`) ?? null);
  if (typeof template !== 'object' || template === null) return template ?? undefined;
  const entries = Object.entries(template).map(([key, item]): [string, unknown] => [
    key.includes('{{') ? shown(knownText(key, scope, path)) : key,
    jsonValue(item, scope, `${path}.${key}`),
  ]);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined && item !== null));
}

/** Surrounds the number of a value; a private character of Unicode. */
const mark = '\ue000';

/** The CDK reads a text as a list or an object; here its expressions must be inside quotes. */
function structure(template: string, scope: Scope, path: string): Rendered {
  const parsed = parse(template, path);
  const values = guarded(template, path, () => compiled(parsed.kind === 'text' ? parsed.parts : [], scope));
  const marked = values.map((value, index) =>
    value.constant ? shown(value.constant.value ?? '') : `${mark}${index}${mark}`,
  );
  const read = literal(marked.join(''));
  if (typeof read === 'string' || template.includes(mark) || hasMarkedKey(read))
    return refuse(
      path,
      'a list or an object as a text with expressions outside of its values in quotes has no counterpart; write it out',
    );
  return guarded(template, path, () => withValues(read, values));
}

const hasMarkedKey = (read: unknown): boolean =>
  typeof read === 'object' &&
  read !== null &&
  Object.entries(read).some(([key, item]) => key.includes(mark) || hasMarkedKey(item));

function withValues(read: unknown, values: readonly Value[]): unknown {
  if (Array.isArray(read)) return read.map((item) => withValues(item, values));
  if (typeof read === 'object' && read !== null)
    return Object.fromEntries(Object.entries(read).map(([key, item]) => [key, withValues(item, values)]));
  if (typeof read !== 'string' || !read.includes(mark)) return escaped(read);
  const parts = read.split(mark).map((part, index) => (index % 2 === 0 ? constant(part) : values[Number(part)]));
  return templateOf(joinedText(parts.filter((part) => part !== undefined)));
}

function escapedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(escapedDeep);
  if (typeof value !== 'object' || value === null) return escaped(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapedDeep(item)]));
}

/** Refuses a text that depends on a connection or a response, because it must be known at import. */
export function knownText(template: string, scope: Scope, path: string): string {
  const value = evaluate(template, scope, path);
  if (value.constant) return value.constant.value === undefined ? '' : shown(value.constant.value);
  return refuse(path, `its value ${quote(template.slice(0, 200))} must not depend on a connection or a response`);
}

export function conditionOf(template: unknown, scope: Scope, path: string): Value {
  if (typeof template === 'boolean') return constant(template);
  if (typeof template !== 'string') return refuse(path, 'expected a condition');
  const parsed = evaluate(template, scope, path);
  return condition(parsed);
}

/** The text of a template for a path or an address: literals unchanged, values in holes that keep slashes. */
export function addressText(template: string, scope: Scope, path: string): string {
  const parsed = parse(template, path);
  if (parsed.kind === 'literal') return parsed.text;
  const nodes = parsed.kind === 'expression' ? [parsed.node] : parsed.parts;
  const values = guarded(template, path, () => compiled(nodes, scope));
  const pieces = values.map((value): Piece => {
    if (value.constant) return { literal: value.constant.value === undefined ? '' : shown(value.constant.value) };
    return {
      code: value.kind === 'text' || value.kind === 'any' ? value.code : text(value).code,
      isLabel: value.plain === true,
    };
  });
  return withHost(pieces)
    .map((piece) => ('literal' in piece ? piece.literal : `{{{ ${piece.code} }}}`))
    .join('');
}

/** `isLabel` marks a value that stands for itself, in a host for one label. */
type Piece = { readonly literal: string } | { readonly code: string; readonly isLabel: boolean };

/** A computed host becomes one hole at the start of the address, so it may have dots, or not be a label at all. */
function withHost(pieces: readonly Piece[]): readonly Piece[] {
  const [first] = pieces;
  const scheme = first !== undefined && 'literal' in first ? /^\s*https?:\/\//i.exec(first.literal)?.[0] : undefined;
  if (scheme === undefined) return pieces;
  const end = pieces.findIndex(
    (piece, index) => 'literal' in piece && piece.literal.slice(index === 0 ? scheme.length : 0).includes('/'),
  );
  const last = pieces.findLastIndex((piece, index) => 'code' in piece && (end === -1 || index < end));
  const host = pieces.slice(0, last + 1);
  const isWhole = host.length === 2 && first !== undefined && 'literal' in first && first.literal === scheme;
  const next = pieces[last + 1];
  const isAlone = isWhole && (next === undefined || ('literal' in next && next.literal.startsWith('/')));
  if (isAlone || host.every((piece) => 'literal' in piece || piece.isLabel)) return pieces;
  const code = host.map((piece) => ('literal' in piece ? quote(piece.literal.trimStart()) : piece.code)).join(' & ');
  return [{ code, isLabel: false }, ...pieces.slice(last + 1)];
}

function parse(template: string, path: string) {
  try {
    return parseTemplate(template);
  } catch (error) {
    if (!(error instanceof JinjaError)) throw error;
    return refuse(
      path,
      `the expression ${error.message} (at character ${error.at + 1} of ${quote(template.slice(0, 200))})`,
    );
  }
}
