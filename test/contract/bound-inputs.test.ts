import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { argsOf, boundArgs, fromBefore, refusal, startArgsOf, whyNoResult } from '../../workflows/bound-inputs.ts';
import { failureConverter } from '../../workflows/failure-converter.ts';

const run = { orgId: 'org_1', connectionId: 'con_1', resourceKey: 'items', runId: 'run_1' };
const firing = { scheduleId: 'sched_1', scheduledFor: '2026-01-02T03:04:05.000Z' };
const scheduled = { orgId: 'org_1', connectionId: 'con_1', resourceKey: 'items', scheduleId: 'sched_1' };
const runId = 'sync:con_1:items:run_1';
const firingId = 'sync:con_1:items:sched_1-2026-01-02T03:04:05Z';
const endpoint = { orgId: 'org_1', endpointId: 'whe_1' };

describe('a workflow starts with the input that its id is made of', () => {
  it.each([
    ['syncRun', runId, run],
    ['syncRun', firingId, { ...run, firing }],
    ['scheduledRun', firingId, scheduled],
    ['scheduledTick', `tick:con_1:items:sched_1-2026-01-02T03:04:05Z`, { orgId: 'org_1', scheduleId: 'sched_1' }],
    ['webhookEndpoint', 'webhook:whe_1', endpoint],
    ['inboundHook', 'inbound:con_1:items', run],
  ])('%s as %s', (type, id, input) => {
    expect(startArgsOf(type, id, [input, null])).toEqual([input, null]);
    expect(startArgsOf(type, id, [fromBefore(input)])).toEqual([input]);
  });

  it.each([
    ['another run', 'syncRun', 'sync:con_1:items:run_2', run],
    ['another type', 'scheduledRun', firingId, { ...run, firing }],
    ['another type', 'syncRun', firingId, scheduled],
    ['another endpoint', 'webhookEndpoint', 'webhook:whe_2', endpoint],
    ['a type that is none', 'constructor', runId, run],
    ['a time that is none', 'syncRun', firingId, { ...run, firing: { ...firing, scheduledFor: 'x' } }],
    ['nothing', 'syncRun', runId, undefined],
    ['null', 'syncRun', runId, null],
    ['a text', 'syncRun', runId, 'run_1'],
    ['what was refused', 'syncRun', runId, refusal('It is forged.')],
  ])('and not with that of %s: %s as %s', (_what, type, id, input) => {
    const why = /^It is (?:for another workflow|a text, which is not sealed|forged)\.$/;
    expect(() => startArgsOf(type, id, [input])).toThrow(why);
    expect(() => startArgsOf(type, id, [fromBefore(input)])).toThrow(why);
  });

  it('and not if something else of it was refused', () => {
    expect(() => startArgsOf('syncRun', runId, [run, refusal('It is forged.')])).toThrow('It is forged.');
    expect(() => startArgsOf('syncRun', runId, [run, fromBefore({ done: true })])).toThrow('for no workflow');
  });
});

describe('an activity begins with the arguments that are bound to it', () => {
  it('takes all of them as they are', () => {
    expect(argsOf('endRun', runId, boundArgs('endRun', [run, 'a text', 7]))).toEqual([run, 'a text', 7]);
  });

  it('refuses those of another activity, and what is none', () => {
    expect(() => argsOf('endRun', runId, boundArgs('syncPages', [run]))).toThrow('It is for the activity syncPages.');
    expect(() => argsOf('syncPages', runId, [])).toThrow('There is none.');
    expect(() => argsOf('syncPages', runId, [refusal('It is forged.')])).toThrow('It is forged.');
    expect(() => argsOf('syncPages', runId, ['text'])).toThrow('not sealed');
  });

  it.each([
    ['syncPages', runId, [run]],
    ['drainEndpoint', 'webhook:whe_1', [endpoint]],
    ['enqueueInboundRun', 'inbound:con_1:items', [run]],
    ['createScheduledRun', firingId, [scheduled, firing.scheduledFor]],
    ['enqueueScheduledRun', firingId, [{ orgId: 'org_1', scheduleId: 'sched_1' }, firing.scheduledFor]],
  ])('takes those of the version before in their own workflow only: %s', (activity, id, args) => {
    const [input, ...times] = args;
    const before = [fromBefore(input), ...times];
    expect(argsOf(activity, id, before)).toEqual(args);
    expect(() => argsOf(activity, `${id}x`, before)).toThrow('It is for another workflow.');
    expect(() => argsOf(activity, '', before)).toThrow('It is for another workflow.');
    expect(() => argsOf(activity, id, args)).toThrow('It is for another workflow.');
  });

  it('refuses those of the version before that say how a run ends: the sweeper starts the run again', () => {
    expect(() => argsOf('endRun', runId, [run, { status: 'failed' }].map(fromBefore))).toThrow(
      'It is for another workflow.',
    );
  });
});

it('a result is taken as it is unless it is a text, an input, of the version before or was refused', () => {
  expect([{ done: true }, null, undefined, 1].map(whyNoResult)).toEqual([null, null, null, null]);
  expect(whyNoResult('running')).toContain('not sealed');
  expect(whyNoResult(boundArgs('syncPages', [run])[0])).toContain('the input');
  expect(whyNoResult(fromBefore({ done: true }))).toContain('for no workflow');
  expect(whyNoResult(refusal('It is forged.'))).toBe('It is forged.');
});

describe('a failure', () => {
  const read = (failure: object) => {
    const error = failureConverter.failureToError(failure, defaultPayloadConverter);
    return { message: error.message, type: error instanceof ApplicationFailure ? error.type : null };
  };
  const thrown = ApplicationFailure.retryable('HTTP 500', 'source_unavailable');
  const worded = (words: object) => defaultPayloadConverter.toPayload(words);
  const made = failureConverter.errorToFailure(thrown, defaultPayloadConverter);

  it('is read as a worker of ours made it', () => {
    expect(read(made)).toEqual({ message: 'HTTP 500', type: 'source_unavailable' });
  });

  it.each([
    ['that nobody sealed', { ...made, encodedAttributes: null, message: 'FORGED' }],
    ['with another code', { ...made, applicationFailureInfo: { type: 'auth_failed' } }],
    ['of the version before, without a code', { ...made, encodedAttributes: worded({ message: 'HTTP 500' }) }],
    ['that the version before sealed', { ...made, encodedAttributes: worded(fromBefore({ message: 'HTTP 500' })) }],
    ['whose words were refused', { ...made, encodedAttributes: worded(refusal('No.')) }],
  ])('%s says nothing', (_what, failure) => {
    expect(read(failure)).toEqual({ message: expect.stringContaining('was refused'), type: 'internal' });
  });
});
