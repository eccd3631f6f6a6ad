import { type Issue, schemaIssue } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { textsIn, valuesAt } from './document-paths.ts';

const paged = ['lookups.*', 'resources.*', 'resources.*.deletes'];

export function checkPagination(document: unknown): readonly Issue[] {
  return paged
    .flatMap((at) => valuesAt(document, at))
    .flatMap(({ path, value }) => {
      const pagination = isJsonObject(value) ? value['pagination'] : null;
      if (!isJsonObject(value) || !isJsonObject(pagination) || !isJsonObject(pagination['shrink'])) return [];
      const sent = [...valuesAt(document, 'http'), { path: '', value: value['request'] }];
      const sendsSize = sent.some((part) => textsIn(part).some((text) => /\bpage\b/.test(text.value)));
      return shrinkRules(`${path}.pagination`, pagination, sendsSize);
    });
}

function shrinkRules(path: string, pagination: JsonObject, sendsSize: boolean): readonly Issue[] {
  const { kind, size, overlap = 0, shrink } = pagination;
  const { when = {}, min = 1 } = isJsonObject(shrink) ? shrink : {};
  if (typeof size !== 'number') return [schemaIssue(`${path}.size`, '`size` is required with `shrink`')];
  const { status, expr } = isJsonObject(when) ? when : {};
  const isEmpty = status === undefined && expr === undefined;
  const issues = isEmpty ? [schemaIssue(`${path}.shrink.when`, 'expected at least one of `status` and `expr`')] : [];
  if (typeof min !== 'number') return issues;
  if (min >= size) issues.push(schemaIssue(`${path}.shrink.min`, 'expected less than `size`'));
  else if (kind === 'page' && !isDoubled(size, min)) issues.push(schemaIssue(`${path}.shrink.min`, notDoubled(size)));
  if (typeof overlap === 'number' && overlap >= min) {
    issues.push(
      schemaIssue(`${path}.shrink.min`, 'expected more than `overlap`: smaller pages would bring nothing new'),
    );
  }
  if (!sendsSize)
    issues.push(schemaIssue(`${path}.shrink`, 'the request does not send `page.size`, so no page gets smaller'));
  return issues;
}

/** Whether `size` is `min` doubled any number of times. Only then is each page two pages of the next smaller size. */
const isDoubled = (size: number, min: number): boolean => Number.isInteger(Math.log2(size / min));

function notDoubled(size: number): string {
  let least = size;
  while (least % 2 === 0) least /= 2;
  const rule =
    'with page numbers `size` must be `min` doubled any number of times, so that each number can be converted';
  return `${rule}; the smallest \`min\` for ${size} is ${least}`;
}
