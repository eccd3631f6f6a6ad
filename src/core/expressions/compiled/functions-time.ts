import { type Evaluation, fail, handBack } from './evaluation.ts';
import { type Native, native } from './native.ts';

/** Without picture strings, which are a separate language; `now` and `millis` are {@link clocks}. */
export const timeFunctions: Readonly<Record<string, Native>> = {
  toMillis: native('<s-s?:n>', ([text, picture]) =>
    typeof text === 'string' ? withoutPicture(picture, () => toMillis(text)) : undefined,
  ),
  fromMillis: native('<n-s?s?:s>', ([millis, picture, zone]) =>
    typeof millis === 'number' ? withoutPicture(picture ?? zone, () => fromMillis(millis)) : undefined,
  ),
};

/** The clock of a run is fixed, so a repeated page gives the same rows. */
export const clocks: ReadonlyMap<string, (evaluation: Evaluation) => unknown> = new Map<
  string,
  (evaluation: Evaluation) => unknown
>([
  ['now', ({ nowMs }) => new Date(nowMs).toISOString()],
  ['millis', ({ nowMs }) => nowMs],
]);

/** An argument is a picture even if it is the only one, as the context may replace the first. */
const withoutPicture = <Time>(picture: unknown, compute: () => Time): Time =>
  picture === undefined ? compute() : handBack();

/** jsonata's own test for a time. */
const timestamp = /^\d{4}(-[01]\d)?(-[0-3]\d)?(T[0-2]\d:[0-5]\d:[0-5]\d)?(\.\d+)?([+-][0-2]\d:?[0-5]\d|Z)?$/;
/** Times that mean the same in every time zone; a process without environment may be in another one. */
const zoned = /^\d{4}-[01]\d(-[0-3]\d(T[0-2]\d:[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-][0-2]\d:[0-5]\d))?)?$/;

function toMillis(text: string): number {
  if (!zoned.test(text)) return timestamp.test(text) ? handBack() : fail('D3110');
  const millis = Date.parse(text);
  return Number.isNaN(millis) ? handBack() : millis;
}

/** 1 January of the years 0 and 10000: between them years have the four digits of ISO 8601. */
const years = { first: -62_167_219_200_000, end: 253_402_300_800_000 } as const;

const fromMillis = (millis: number): string =>
  millis >= years.first && millis < years.end ? new Date(millis).toISOString() : handBack();
