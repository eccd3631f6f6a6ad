import type { Evaluation } from './evaluation.ts';
import { readSignature, type Signature } from './signature.ts';

/** Arguments are as the signature says, or `undefined` where none was given. */
export interface Native {
  readonly signature: Signature;
  readonly call: (args: readonly unknown[], evaluation: Evaluation) => unknown;
  /** The most common call, with one argument that fits the signature unchanged; `null` without such a form. */
  readonly ofOne: OfOne | null;
}

interface OfOne {
  readonly type: 'string' | 'number';
  readonly call: (value: unknown, evaluation: Evaluation) => unknown;
}

export const native = (signature: string, call: Native['call']): Native => ({
  signature: readSignature(signature),
  call,
  ofOne: null,
});

export const ofText = (compute: (text: string, evaluation: Evaluation) => unknown): Native =>
  single('<s-:s>', {
    type: 'string',
    call: (text, evaluation) => (typeof text === 'string' ? compute(text, evaluation) : undefined),
  });

export const ofNumber = (compute: (number: number) => number): Native =>
  single('<n-:n>', { type: 'number', call: (number) => (typeof number === 'number' ? compute(number) : undefined) });

const single = (signature: string, ofOne: OfOne): Native => ({
  ...native(signature, (args, evaluation) => ofOne.call(args[0], evaluation)),
  ofOne,
});
