/**
 * How an input is bound to what it is for. Whoever may write to Temporal can start what they like, and can take a sealed input
 * from a history. The codec binds a payload to the ids of its workflow and activity, which is all that the SDK tells it; the
 * type is bound here. The inputs of a workflow name the ids that its own id is made of. Those of an activity are sealed as one
 * value, with its type. Without an import of the SDK: workers and workflows need it.
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

/** The id of a workflow without the time that Temporal appends to it when a schedule starts it. */
export const withoutFiring = (workflowId: string): string =>
  workflowId.replace(/-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, '');

const reasonName = 'css:refused';

/** What a worker reads in place of a payload that it refuses. */
export const refusal = (reason: string): object => ({ [reasonName]: reason });

const beforeName = 'css:before';

/** What a worker reads in place of a value that the version before sealed: for nothing, so it may be of any workflow. */
export const fromBefore = (value: unknown): object => ({ [beforeName]: value });

const isFromBefore = (value: unknown): value is { readonly [beforeName]: unknown } =>
  typeof value === 'object' && value !== null && beforeName in value;

/** Why a value is no input or result of ours; null: it may be one. A text on its own is never sealed. */
function whyRefused(value: unknown): string | null {
  if (typeof value === 'string') return 'It is a text, which is not sealed.';
  if (isFromBefore(value)) return 'The version before sealed it, for no workflow or activity.';
  if (typeof value !== 'object' || value === null || !(reasonName in value)) return null;
  return String(value[reasonName]);
}

/** Why a value is no result of an activity; null: it may be one. What is sealed for an activity may also be its input. */
export const whyNoResult = (value: unknown): string | null =>
  whyRefused(value) ?? (isBound(value) ? 'It is the input of an activity.' : null);

/** The first reason to refuse one of the values; null: there is none. */
export const whyAnyRefused = (values: readonly unknown[]): string | null =>
  values.map(whyRefused).find((reason) => reason !== null) ?? null;

/** The id of a workflow, without the time of a firing, from its input. Its input names what the id is made of. */
const idOf: Readonly<Record<string, (input: never) => string>> = {
  [syncRunType]: (input: SyncRunInput) => withoutFiring(syncRunId(input)),
  [scheduledRunType]: (input: ScheduledRunInput) => scheduledRunId(input),
  [webhookEndpointType]: (input: WebhookEndpointInput) => webhookEndpointId(input),
  [inboundHookType]: (input: InboundHookInput) => inboundHookId(input),
};

const foreign = 'It is for another workflow.';

/**
 * The arguments of a workflow. The first one names the workflow, so that of the version before is taken, too.
 * @throws Error saying why a workflow of this type and id may not start with them.
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
  // The ids of this type also had the names of what was synced, which its input has not.
  if (type === scheduledTickType) return id.endsWith(`:${(input as ScheduledTickInput).scheduleId}`);
  return Object.hasOwn(idOf, type) && idOf[type]?.(input as never) === id;
}

/** All arguments of an activity as one, which says what it is for. */
export const boundArgs = (activity: string, args: readonly unknown[]): [unknown] => [{ activity, args }];

/**
 * The arguments of an activity, taken out of what {@link boundArgs} made. Those of the version before are taken if they name
 * the workflow that they are in; one whose other arguments say more than a time is refused, and its run is started again.
 * @throws Error saying why they are refused.
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

/** Whether the version before made these arguments for an activity of the workflow. */
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

/** The activities whose only argument is the input of their workflow, and the type whose ids they name. */
const earlierActivities: Readonly<Record<string, string>> = {
  syncPages: syncRunType,
  drainEndpoint: webhookEndpointType,
  enqueueInboundRun: inboundHookType,
};

/** False as well when the input has another form. */
function attempt(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}
