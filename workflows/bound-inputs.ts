/**
 * Binds each input to its purpose: a client with write access to Temporal can start any workflow, with any sealed input of a
 * history. The codec binds a payload only to the ids of its workflow and activity; the SDK tells it no more. The input of a
 * workflow therefore names the ids in its workflow id, and the arguments of an activity are sealed with its type. Without the
 * SDK, because workers and workflows import this.
 */
import {
  type InboundHookInput,
  inboundHookId,
  inboundHookType,
  type ScheduledRunInput,
  type ScheduledTickInput,
  type SyncRunInput,
  scheduledRunId,
  scheduledRunType,
  scheduledTickType,
  syncRunId,
  syncRunType,
  toSeconds,
  type WebhookEndpointInput,
  webhookEndpointId,
  webhookEndpointType,
} from './contract.ts';

/** The workflow id without the time that Temporal appends when a schedule starts it. */
export const withoutFiring = (workflowId: string): string =>
  workflowId.replace(/-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, '');

const reasonName = 'css:refused';

/** Stands in for a payload that a worker refuses. */
export const refusal = (reason: string): object => ({ [reasonName]: reason });

const beforeName = 'css:before';

/** Stands in for a value that the previous version sealed, which was not bound to a workflow. */
export const fromBefore = (value: unknown): object => ({ [beforeName]: value });

const isFromBefore = (value: unknown): value is { readonly [beforeName]: unknown } =>
  typeof value === 'object' && value !== null && beforeName in value;

/** The reason to refuse a value as an input or result, or `null`. */
function whyRefused(value: unknown): string | null {
  if (typeof value === 'string') return 'It is a text, which is not sealed.';
  if (isFromBefore(value)) return 'The version before sealed it, for no workflow or activity.';
  if (typeof value !== 'object' || value === null || !(reasonName in value)) return null;
  return String(value[reasonName]);
}

/**
 * The reason to refuse a value as the result of an activity, or `null`. A value sealed for an activity may also be its input.
 */
export const whyNoResult = (value: unknown): string | null =>
  whyRefused(value) ?? (isBound(value) ? 'It is the input of an activity.' : null);

export const whyAnyRefused = (values: readonly unknown[]): string | null =>
  values.map(whyRefused).find((reason) => reason !== null) ?? null;

const idOf: Readonly<Record<string, (input: never) => string>> = {
  [syncRunType]: (input: SyncRunInput) => withoutFiring(syncRunId(input)),
  [scheduledRunType]: (input: ScheduledRunInput) => scheduledRunId(input),
  [webhookEndpointType]: (input: WebhookEndpointInput) => webhookEndpointId(input),
  [inboundHookType]: (input: InboundHookInput) => inboundHookId(input),
};

const foreign = 'It is for another workflow.';

/**
 * The first argument names the workflow, so one from the previous version is accepted too.
 * @throws Error with the reason if a workflow of this type and id may not start with them.
 */
export function startArgsOf(type: string, workflowId: string, args: readonly unknown[]): unknown[] {
  const [first, ...others] = args;
  const input = isFromBefore(first) ? first[beforeName] : first;
  const refused = whyAnyRefused([input, ...others]);
  if (refused !== null) throw new Error(refused);
  if (!attempt(() => belongs(type, withoutFiring(workflowId), input))) throw new Error(foreign);
  return args.length === 0 ? [] : [input, ...others];
}

function belongs(type: string, id: string, input: unknown): boolean {
  // Ids of this type also contained the names of what was synced, which are not in the input.
  if (type === scheduledTickType) return id.endsWith(`:${(input as ScheduledTickInput).scheduleId}`);
  return Object.hasOwn(idOf, type) && idOf[type]?.(input as never) === id;
}

export const boundArgs = (activity: string, args: readonly unknown[]): [unknown] => [{ activity, args }];

/**
 * Unwraps {@link boundArgs}, or arguments of the previous version that name their own workflow. An activity with arguments
 * beyond an input and a time is refused, and its run starts again.
 * @throws Error with the reason if they are refused.
 */
export function argsOf(activity: string, workflowId: string, args: readonly unknown[]): readonly unknown[] {
  const [bound] = args;
  if (args.length === 1 && isBound(bound)) {
    if (bound.activity === activity) return bound.args;
    throw new Error(`It is for the activity ${bound.activity}.`);
  }
  if (args.length === 0) throw new Error('There is none.');
  if (!isFromBefore(bound)) throw new Error(whyRefused(bound) ?? foreign);
  const earlier = [bound[beforeName], ...args.slice(1)];
  if (!attempt(() => isEarlier(activity, workflowId, earlier))) throw new Error(foreign);
  return earlier;
}

interface Bound {
  readonly activity: string;
  readonly args: readonly unknown[];
}

const isBound = (value: unknown): value is Bound =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'activity,args';

function isEarlier(activity: string, workflowId: string, args: readonly unknown[]): boolean {
  const [input, time] = args;
  const firing = () => `-${toSeconds(String(time))}`;
  if (activity === 'createScheduledRun') return workflowId === scheduledRunId(input as ScheduledRunInput) + firing();
  if (activity === 'enqueueScheduledRun') {
    return workflowId.endsWith(`:${(input as ScheduledTickInput).scheduleId}${firing()}`);
  }
  const workflow = Object.hasOwn(earlierActivities, activity) ? earlierActivities[activity] : undefined;
  return args.length === 1 && workflow !== undefined && belongs(workflow, withoutFiring(workflowId), input);
}

/** Activities whose only argument is the input of their workflow, with the type of that workflow. */
const earlierActivities: Readonly<Record<string, string>> = {
  syncPages: syncRunType,
  drainEndpoint: webhookEndpointType,
  enqueueInboundRun: inboundHookType,
};

/** Also false if the check throws, because the input has another form. */
function attempt(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}
