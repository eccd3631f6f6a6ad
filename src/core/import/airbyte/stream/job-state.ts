/** The state of a report job: when it is ready, has failed or is too late. */
import { isJsonObject } from '../../../json/is-json-object.ts';
import { type Component, partOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { literal } from '../jinja/python.ts';
import { quote, step } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { knownText } from '../render.ts';
import { startScope } from './scopes.ts';

interface Statuses {
  readonly status: string;
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  /** JSONata for when a job has no records; `null` if it may always have some. */
  readonly emptyWhen: string | null;
}

/** Refuses statuses that are not texts. */
export function readStatuses(retriever: Component, config: Config): Statuses {
  const at = pathAt(retriever, 'status_mapping');
  const mapping = valueOf(retriever, 'status_mapping');
  const extractor = partOf(retriever, 'status_extractor');
  if (!isJsonObject(mapping) || extractor === null)
    return refuse(at, 'a job without status_mapping and status_extractor has no state');
  const listOf = (key: string): readonly string[] => {
    const list = mapping[key] ?? [];
    if (!Array.isArray(list)) return refuse(at, 'expected lists of statuses');
    return list.map((item) =>
      typeof item === 'string' && !['True', 'False', 'None'].includes(item)
        ? item
        : refuse(at, 'a status that is no text has no counterpart'),
    );
  };
  const skipped = listOf('skipped');
  const completed = [...listOf('completed'), ...skipped];
  const failed = [...listOf('failed'), ...listOf('timeout')];
  if (completed.length === 0 || failed.length === 0)
    refuse(at, 'a job is ready at one of its statuses, and has failed at another');
  const status = `body${valuePath(extractor, config)}`;
  return {
    status,
    completed,
    failed,
    emptyWhen: skipped.length === 0 ? null : `$string(${status}) in [${skipped.map(quote).join(', ')}]`,
  };
}

/** The seconds of a job; the manifest counts minutes, and the default is that of the CDK. */
export function readTimeout(retriever: Component, config: Config): number {
  const given = textOf(retriever, 'polling_job_timeout');
  if (given === undefined || given === '') return 3600;
  const at = pathAt(retriever, 'polling_job_timeout');
  const minutes = literal(knownText(given, startScope({ component: retriever, config }), at));
  if (typeof minutes !== 'number' || !(minutes >= 1 && minutes <= 10_080))
    return refuse(at, 'a job has from 1 to 10080 minutes');
  return Math.floor(minutes) * 60;
}

/** A path to one value, with a dot before each name. */
export function valuePath(extractor: Component, config: Config): string {
  if (extractor.type !== 'DpathExtractor') refuseType(extractor, 'only DpathExtractor selects by a path');
  const at = pathAt(extractor, 'field_path');
  const fields = valueOf(extractor, 'field_path');
  if (!Array.isArray(fields) || fields.length === 0) return refuse(at, 'expected a list of names');
  const scope = startScope({ component: extractor, config });
  return fields
    .map((field) => {
      const name = knownText(String(field), scope, at);
      const part = step(name);
      if (part === null || /^\d+$|[*?[\]]/.test(name)) return refuse(at, 'a job has one value there, of a plain name');
      return `.${part}`;
    })
    .join('');
}
