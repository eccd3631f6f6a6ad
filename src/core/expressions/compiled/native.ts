import type { Evaluation } from './evaluation.ts';
import { readSignature, type Signature } from './signature.ts';

/** A function of JSONata's: its arguments are what its signature says, or undefined where nothing was given. */
export interface Native {
  readonly signature: Signature;
  readonly call: (args: readonly unknown[], evaluation: Evaluation) => unknown;
}

/** A function with its signature in jsonata's form. */
export const native = (signature: string, call: Native['call']): Native => ({
  signature: readSignature(signature),
  call,
});

/** A function of one text; nothing gives nothing. */
export const ofText = (compute: (text: string, evaluation: Evaluation) => unknown): Native =>
  native('<s-:s>', (args, evaluation) => (typeof args[0] === 'string' ? compute(args[0], evaluation) : undefined));

/** A function of one number; nothing gives nothing. */
export const ofNumber = (compute: (number: number) => number): Native =>
  native('<n-:n>', (args) => (typeof args[0] === 'number' ? compute(args[0]) : undefined));
