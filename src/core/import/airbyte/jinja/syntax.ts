/** `at` is the start in the template, from 0. */
export type Node = { readonly at: number } & (
  | { readonly kind: 'constant'; readonly value: string | number | boolean | null }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'member'; readonly of: Node; readonly key: Node; readonly dotted: boolean }
  | { readonly kind: 'slice'; readonly of: Node; readonly from: Node | null; readonly to: Node | null }
  | { readonly kind: 'call'; readonly callee: Node; readonly args: readonly Argument[] }
  | { readonly kind: 'filter'; readonly name: string; readonly of: Node; readonly args: readonly Argument[] }
  | {
      readonly kind: 'test';
      readonly name: string;
      readonly of: Node;
      readonly args: readonly Argument[];
      readonly negated: boolean;
    }
  | { readonly kind: 'not'; readonly of: Node }
  | { readonly kind: 'negative'; readonly of: Node }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Node; readonly right: Node }
  | { readonly kind: 'if'; readonly condition: Node; readonly yes: Node; readonly no: Node | null }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [key: Node, value: Node])[] }
  /** The parts of a template, joined to a text. */
  | { readonly kind: 'text'; readonly parts: readonly Node[] }
  | { readonly kind: 'let'; readonly name: string; readonly value: Node; readonly in: Node }
);

/** `name` is null for a positional argument. */
export interface Argument {
  readonly name: string | null;
  readonly value: Node;
}

export class JinjaError extends Error {
  override readonly name = 'JinjaError';
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}
