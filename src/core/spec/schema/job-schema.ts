import * as v from 'valibot';
import { mapOf } from '../../json/json-object.ts';
import { field, wholeNumber } from './field.ts';
import { ErrorRule, Expression, RequestTemplate } from './http-schema.ts';
import { VariableName } from './names.ts';
import { strictObject } from './strict-object.ts';

const Statuses = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(100));

const JobErrors = v.pipe(v.array(ErrorRule), v.metadata({ maxItems: 100 }));

export const ReportJob = strictObject({
  create: field(
    RequestTemplate,
    'The request that creates the job: once for each window of each partition. Sees `job.key`, which is the same whenever the request is repeated: send it as idempotency key where the API takes one, or a process that ends right after the request leaves a second job behind.',
    { method: 'POST', path: '/exports', headers: { 'Idempotency-Key': '{{ job.key }}' } },
  ),
  id: field(
    Expression,
    'The id of the job, from the response to `create`: a text or a number. Later requests see it as `job.id`.',
    'body.id',
  ),
  createErrors: field(
    v.exactOptional(JobErrors),
    'What a response to `create` means, instead of the rules in `errors` of the resource; those of `http.errors` follow. A job has no pages, so `empty` and `skip_partition` are no actions here. Absent: `errors` of the resource.',
    [{ when: { expr: "$contains(body.details, 'too far in the past')" }, action: 'fail' }],
  ),
  poll: field(RequestTemplate, 'The request for the state of the job.', { path: '/exports/{{ job.id }}' }),
  pollErrors: field(v.exactOptional(JobErrors), 'The same for the responses to `poll`.', [
    { when: { status: [404] }, action: 'retry' },
  ]),
  status: field(Expression, 'The status of the job, from the response to `poll`.', 'body.status'),
  completed: field(Statuses, 'The statuses of a job that is ready.', ['completed']),
  failed: field(
    Statuses,
    'The statuses of a job that has failed, which fails the run with `source_rejected`. Any other status: it still runs.',
    ['failed', 'canceled'],
  ),
  emptyWhen: field(
    v.exactOptional(Expression),
    'True for the response to `poll` of a completed job: it has no records, and nothing is requested. Absent: it is always read.',
    'body.record_count = 0',
  ),
  parts: field(
    v.exactOptional(Expression),
    'The parts of a completed report, from the last response to `poll`: a list of texts or numbers, such as the addresses of its files. `request` reads each with all of its pages, one part after the other, and sees it as `job.part`. An empty list: there are no records; nothing at all fails the read, unless `recordsMissing` is `empty`. With `incremental` the order must be `none`. Absent: the report is one.',
    'body.files.url',
  ),
  values: field(
    v.optional(mapOf(VariableName, Expression), {}),
    'Texts or numbers of the last response to `poll`, which `request` sees as `job.<name>`.',
    { url: 'body.download_url' },
  ),
  signRequest: field(
    v.optional(v.boolean(), true),
    'False: `request` carries no credentials, because its address has its own, as signed addresses of file stores do.',
  ),
  intervalSeconds: field(
    v.optional(wholeNumber(1, 3600), 10),
    'Seconds between two polls. The run waits durably and costs nothing meanwhile.',
  ),
  timeoutSeconds: field(
    v.optional(wholeNumber(1, 604_800), 3600),
    'Seconds from the creation of a job after which the run fails with `source_rejected`.',
  ),
});
export type ReportJob = v.InferOutput<typeof ReportJob>;
