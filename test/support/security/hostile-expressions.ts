import corpus from '../../fixtures/jsonata-hostile.json' with { type: 'json' };

/** One hostile expression and what a preview of it must respond. */
export interface HostileExpression {
  readonly id: string;
  /** What it tries: `escape`, `loop`, `memory` and so on. */
  readonly class: string;
  readonly expression?: string;
  readonly expressionGen?: { readonly parts: readonly (readonly [text: string, times: number])[] };
  readonly record?: unknown;
  readonly preview: string;
}

/** The corpus as it was handed over. */
export const hostileExpressions = corpus as unknown as readonly HostileExpression[];

/** Its text; long ones are generated. */
export const expressionText = ({ expression, expressionGen }: HostileExpression): string =>
  expression ?? expressionGen?.parts.map(([text, times]) => text.repeat(times)).join('') ?? '';

/** Whether a preview succeeds. It takes objects only, so "400 (not an object) or 200 if scalars are allowed" does not. */
export function previewSucceeds({ preview }: HostileExpression): boolean | 'either' {
  if (preview.startsWith('200 or') || preview.startsWith('200 with')) return 'either';
  return preview.startsWith('200');
}
