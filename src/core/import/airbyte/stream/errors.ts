import { isJsonObject } from '../../../json/is-json-object.ts';
import { type Component, partOf, partsOf, pathAt, refuseType, textOf, valueOf } from '../component.ts';
import type { Config } from '../config/config.ts';
import { quote } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import { conditionOf, expressionOf, knownText } from '../render.ts';
import { responseScope, startScope } from './scopes.ts';

type Rule = Readonly<Record<string, unknown>>;

/** Fields in which the CDK looks for the message of an error. */
const messageFields = [
  'error',
  'errors',
  'message',
  'messages',
  'failures',
  'failure',
  'detail',
  'details',
  'err',
  'error_message',
  'error_description',
  'msg',
  'reason',
  'status_message',
];

/** Marks rules that ask for a smaller page; the spec has no such action. */
const shrinkAction = 'airbyte_shrink';

/** Separates the rules that ask for a smaller page, as `pagination.shrink.when`; `null` without any. */
export function splitShrink(
  rules: readonly Rule[],
  path: string,
): { readonly errors: readonly Rule[]; readonly when: Rule | null } {
  const errors = rules.filter(({ action }) => action !== shrinkAction);
  if (errors.length === rules.length) return { errors, when: null };
  const conditions = rules.flatMap(({ action, when }) => (action === shrinkAction && isJsonObject(when) ? [when] : []));
  const [first] = conditions;
  if (first !== undefined && conditions.length === 1 && rules[0]?.['action'] === shrinkAction)
    return { errors, when: first };
  const last = rules.findLastIndex(({ action }) => action === shrinkAction);
  const all = rules.slice(0, last + 1);
  const lists = all.map(({ when }) => (isJsonObject(when) && Array.isArray(when['status']) ? when['status'] : []));
  const statuses = lists.flat();
  if (lists.some((list) => list.length === 0) || new Set(statuses).size < statuses.length)
    refuse(path, 'smaller pages are requested by statuses that no rule before has, or by the first rule alone');
  return { errors, when: { status: conditions.flatMap(({ status }) => (Array.isArray(status) ? status : [])) } };
}

export function readErrors(requester: Component, config: Config): readonly Rule[] {
  const handler = partOf(requester, 'error_handler');
  return handler === null ? [] : unique(rulesOf(handler, config, 0));
}

function unique(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()].slice(0, 100);
}

function rulesOf(handler: Component, config: Config, depth: number): readonly Rule[] {
  if (depth > 10) return refuse(handler.path, 'error handlers nest too deeply');
  if (handler.type === 'CompositeErrorHandler') {
    return partsOf(handler, 'error_handlers').flatMap((inner) => rulesOf(inner, config, depth + 1));
  }
  if (handler.type !== 'DefaultErrorHandler')
    return [refuseType(handler, 'DefaultErrorHandler and CompositeErrorHandler are converted')];
  const wait = waitOf(handler, config);
  const rules = partsOf(handler, 'response_filters').flatMap((filter) => filterRules(filter, config, wait));
  return wait === null ? rules : [...rules, { when: { status: [429, 503] }, action: 'rate_limited', waitFrom: wait }];
}

export function readErrorNotes(requester: Component): readonly string[] {
  const handler = partOf(requester, 'error_handler');
  const isCustom = ({ type }: Component): boolean => type.startsWith('Custom');
  const waits = handler !== null && handlersIn(handler, 0).some((one) => strategiesOf(one).some(isCustom));
  return waits
    ? [
        'Retries wait as `Retry-After` says, or for a growing time: the manifest has Python for that, which is left out.',
      ]
    : [];
}

const strategiesOf = (handler: Component): readonly Component[] => partsOf(handler, 'backoff_strategies');

const handlersIn = (handler: Component, depth: number): readonly Component[] => [
  handler,
  ...(depth > 10 ? [] : partsOf(handler, 'error_handlers').flatMap((inner) => handlersIn(inner, depth + 1))),
];

/** Where a response says how long to wait; other strategies only space the retries. */
function waitOf(handler: Component, config: Config): Rule | null {
  for (const strategy of strategiesOf(handler)) {
    const isTime = strategy.type === 'WaitUntilTimeFromHeader';
    if ((isTime || strategy.type === 'WaitTimeFromHeader') && textOf(strategy, 'regex') === undefined) {
      const scope = startScope({ component: strategy, config });
      const header = knownText(textOf(strategy, 'header') ?? '', scope, pathAt(strategy, 'header'));
      if (header !== '') return { header, format: isTime ? 'epoch_s' : 'seconds' };
    }
  }
  return null;
}

function filterRules(filter: Component, config: Config, wait: Rule | null): readonly Rule[] {
  if (filter.type !== 'HttpResponseFilter') return [refuseType(filter, 'HttpResponseFilter is converted')];
  const statuses = statusesOf(filter);
  const conditions: Rule[] = [];
  if (statuses.length > 0) conditions.push({ status: statuses });
  const predicate = valueOf(filter, 'predicate');
  if (predicate !== undefined && predicate !== '') {
    const value = conditionOf(predicate, responseScope({ component: filter, config }), pathAt(filter, 'predicate'));
    if (value.constant?.value !== false) conditions.push({ expr: expressionOf(value) });
  }
  const contained = textOf(filter, 'error_message_contains');
  if (contained !== undefined && contained !== '') {
    const fields = messageFields.map((name) => `body.${name}`).join(', ');
    conditions.push({ expr: `$contains($string([${fields}]), ${quote(contained)})` });
  }
  return conditions.flatMap((when) => {
    const action = actionOf(filter, when);
    if (action === null) return [];
    const message = action === 'fail' ? messageOf(filter) : null;
    return [
      {
        when,
        action,
        ...(action === 'rate_limited' && wait !== null ? { waitFrom: wait } : {}),
        ...(message === null ? {} : { message }),
      },
    ];
  });
}

function statusesOf(filter: Component): readonly number[] {
  const codes = valueOf(filter, 'http_codes');
  if (!Array.isArray(codes)) return [];
  return codes.map(Number).filter((code) => Number.isInteger(code) && code >= 100 && code <= 599);
}

const actions: Readonly<Record<string, string>> = {
  FAIL: 'fail',
  RETRY: 'retry',
  IGNORE: 'empty',
  RATE_LIMITED: 'rate_limited',
  REFRESH_TOKEN_THEN_RETRY: 'refresh_auth',
  REDUCE_PAGE_SIZE: shrinkAction,
};

/** `null` when the service does it by itself. */
function actionOf(filter: Component, when: Rule): string | null {
  const name = textOf(filter, 'action');
  if (name === undefined) return defaultAction(when);
  const action = actions[name.toUpperCase()];
  if (action !== undefined) return action;
  if (name.toUpperCase() === 'SUCCESS' && isSuccess(when)) return null;
  return refuse(pathAt(filter, 'action'), `the action ${name.slice(0, 50)} has no counterpart`);
}

const isSuccess = ({ status }: Rule): boolean =>
  Array.isArray(status) && status.every((code) => code >= 200 && code < 300);

/** A filter without action only adds a message. */
function defaultAction({ status }: Rule): string | null {
  if (!Array.isArray(status)) return 'fail';
  const waits = status.some((code) => code === 429 || code === 408 || code >= 500);
  return waits || isSuccess({ status }) ? null : 'fail';
}

function messageOf(filter: Component): string | null {
  const message = textOf(filter, 'error_message');
  return message === undefined || message === '' || message.includes('{{') ? null : message.slice(0, 500);
}
