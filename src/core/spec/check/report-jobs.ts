import { type Issue, issueIf } from '../../errors.ts';
import { isJsonObject } from '../../json/is-json-object.ts';
import type { JsonObject } from '../../json/json-object.ts';
import { textsIn, valuesAt } from './document-paths.ts';

export function checkReportJobs(document: unknown): readonly Issue[] {
  const withJob = new Set<unknown>();
  const own = valuesAt(document, 'resources.*').flatMap(({ path, value }) => {
    if (!isJsonObject(value) || !isJsonObject(value['job'])) return [];
    withJob.add(value['key']);
    return [...jobRules(value, path), ...['createErrors', 'pollErrors'].flatMap((key) => pageless(value, path, key))];
  });
  const sources = ['resources.*.forEach.*', 'resources.*.forEach.*.union.*'].flatMap((at) => valuesAt(document, at));
  const live = sources.flatMap(({ path, value }) =>
    issueIf(
      isJsonObject(value) && withJob.has(value['resource']) && value['from'] !== 'store',
      `${path}.from`,
      'a resource with a `job` cannot be read live: use `store`',
    ),
  );
  return [...own, ...live];
}

function jobRules(resource: JsonObject, path: string): readonly Issue[] {
  const incremental = partOf(resource, 'incremental');
  const { mode } = partOf(partOf(resource, 'request'), 'cache');
  const uses = (name: RegExp) =>
    textsIn({ path: '', value: resource['request'] }).some((text) => name.test(text.value));
  const hasParts = partOf(resource, 'job')['parts'] !== undefined;
  const { order } = incremental;
  return [
    ...issueIf(
      !uses(/\bjob\b/),
      `${path}.job`,
      '`request` does not use `job`, so it cannot read what the job has made',
    ),
    ...issueIf(
      hasParts && uses(/\bjob\b/) && !uses(/\bjob\.part\b/),
      `${path}.job.parts`,
      '`request` does not use `job.part`, so it would read the same for each part',
    ),
    ...issueIf(
      hasParts && typeof order === 'string' && order !== 'none',
      `${path}.incremental.order`,
      'the parts of a report follow in no order of their records: use `none`',
    ),
    ...issueIf(incremental['kind'] === 'token', `${path}.incremental.kind`, 'a report has no token: use `cursor`'),
    ...issueIf(
      incremental['resultCap'] !== undefined,
      `${path}.incremental.resultCap`,
      'the job of a window cannot be split: remove `resultCap`',
    ),
    ...issueIf(
      resource['fieldChunks'] !== undefined,
      `${path}.fieldChunks`,
      'a report has all fields: remove `fieldChunks`',
    ),
    ...issueIf(
      mode !== undefined && mode !== 'none',
      `${path}.request.cache.mode`,
      'a report is new each time: remove `cache`',
    ),
  ];
}

/** Refuses actions that would treat the response as a page; a response about a job has none. */
function pageless(resource: JsonObject, path: string, key: string): readonly Issue[] {
  return valuesAt(resource, `job.${key}.*.action`).flatMap((action) =>
    issueIf(
      action.value === 'empty' || action.value === 'skip_partition',
      `${path}.${action.path}`,
      'a response about a job is no page: use another action',
    ),
  );
}

function partOf(value: JsonObject, key: string): JsonObject {
  const child = value[key];
  return isJsonObject(child) ? child : {};
}
