import { charge, type Evaluation, fail, handBack } from './evaluation.ts';
import { type Native, native, ofNumber } from './native.ts';
import { isList } from './sequence.ts';
import { finite, isTruthy } from './values.ts';

export const numberFunctions: Readonly<Record<string, Native>> = {
  number: native('<(nsb)-:n>', ([value]) => (value === undefined ? undefined : numberOf(value))),
  abs: ofNumber(Math.abs),
  floor: ofNumber(Math.floor),
  ceil: ofNumber(Math.ceil),
  round: native('<n-n?:n>', (args) =>
    typeof args[0] === 'number' ? round(args[0], typeof args[1] === 'number' ? args[1] : 0) : undefined,
  ),
  sqrt: ofNumber((number) => (number < 0 ? fail('D3060') : Math.sqrt(number))),
  power: native('<n-n:n>', ([base, exponent]) => {
    if (typeof base !== 'number') return undefined;
    const result = base ** (typeof exponent === 'number' ? exponent : Number.NaN);
    return Number.isFinite(result) ? result : fail('D3061');
  }),
  sum: native('<a<n>:n>', ([numbers], evaluation) => (isList(numbers) ? sum(numbers, evaluation) : undefined)),
  average: native('<a<n>:n>', ([numbers], evaluation) =>
    isList(numbers) && numbers.length > 0 ? finite(sum(numbers, evaluation) / numbers.length) : undefined,
  ),
  max: native('<a<n>:n>', ([numbers], evaluation) => extreme(numbers, evaluation, Math.max)),
  min: native('<a<n>:n>', ([numbers], evaluation) => extreme(numbers, evaluation, Math.min)),
  boolean: native('<x-:b>', ([value], evaluation) => (value === undefined ? undefined : isTruthy(value, evaluation))),
  not: native('<x-:b>', ([value], evaluation) => (value === undefined ? undefined : !isTruthy(value, evaluation))),
};

const decimal = /^-?[0-9]+(\.[0-9]+)?([Ee][-+]?[0-9]+)?$/;
/** Numbers of other bases as jsonata has them: only the first form must begin the text, only the last must end it. */
const otherBase = /^(0[xX][0-9A-Fa-f]+)|(0[oO][0-7]+)|(0[bB][0-1]+)$/;

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string') return fail('D3030');
  if (decimal.test(value) && Number.isFinite(Number(value))) return Number.parseFloat(value);
  return otherBase.test(value) ? finite(Number(value)) : fail('D3030');
}

const factors = Array.from({ length: 11 }, (_, places) => 10 ** places);
/** Below it, the error of a product with such a factor is at most a thousandth. */
const shiftedMax = 2 ** 40;

/** Rounds half to even. */
function round(number: number, precision: number): number {
  const shifted = number * (factors[precision] ?? Number.NaN);
  const nearest = Math.round(shifted);
  const isClear = Math.abs(shifted) < shiftedMax && Math.abs(Math.abs(nearest - shifted) - 0.5) > 0.001;
  // A quotient of two exact numbers is the nearest one to the decimal text.
  return isClear ? nearest / (factors[precision] ?? 1) + 0 : roundInText(number, precision);
}

/** Moves the decimal point in the text, which loses nothing. */
function roundInText(number: number, precision: number): number {
  const shifted = precision === 0 ? number : moved(number, precision);
  const nearest = Math.round(shifted);
  const isHalf = Math.abs(nearest - shifted) === 0.5 && Math.abs(nearest % 2) === 1;
  const even = isHalf ? nearest - 1 : nearest;
  const result = precision === 0 ? even : moved(even, -precision);
  return result === 0 ? 0 : finite(result);
}

function moved(number: number, places: number): number {
  const text = String(number);
  const at = text.indexOf('e');
  if (at === -1) return Number(`${text}e${places}`);
  return Number(`${text.slice(0, at)}e${Number(text.slice(at + 1)) + places}`);
}

function sum(numbers: readonly unknown[], evaluation: Evaluation): number {
  charge(evaluation, numbers.length);
  let total = 0;
  for (const number of numbers) total += typeof number === 'number' ? number : handBack();
  return finite(total);
}

function extreme(numbers: unknown, evaluation: Evaluation, choose: (a: number, b: number) => number): unknown {
  if (!isList(numbers) || numbers.length === 0) return undefined;
  charge(evaluation, numbers.length);
  return numbers.reduce((best: number, number) => choose(best, Number(number)), Number(numbers[0]));
}
