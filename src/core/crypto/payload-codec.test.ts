import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sealedBefore } from '../../../test/support/security/sealed-before.ts';
import {
  createPayloadCodec,
  type Payload,
  type PayloadContext,
  payloadKeyId,
  UnknownPayloadKeyError,
} from './payload-codec.ts';

const key = (id: string) => ({ id, key: new Uint8Array(randomBytes(32)) });
const [k1, k2] = [key('k1'), key('k2')];

const json = (value: unknown): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});
const nothing: Payload = { metadata: { encoding: Buffer.from('binary/null') } };

async function encode(payload: Payload): Promise<Payload> {
  const [encoded] = await createPayloadCodec([k1]).encode([payload]);
  if (!encoded) throw new Error('nothing was encoded');
  return encoded;
}

describe('the payload codec', () => {
  it.each([
    ['an input', json({ orgId: 'org_a', runId: 'run_ä🔑' })],
    ['a failure', json({ message: 'HTTP 500', stack_trace: 'Error: HTTP 500\n at x' })],
    ['a number', json(1234567.891)],
    ['bytes', { metadata: { encoding: Buffer.from('binary/plain') }, data: Buffer.from([0, 10, 255]) }],
  ])('encrypts %s under the first key, and gives it back', async (_what, payload) => {
    const [encoded, again] = await createPayloadCodec([k1, k2]).encode([payload, payload]);
    expect(payloadKeyId(encoded ?? {})).toBe('k1');
    expect(Buffer.from(encoded?.data ?? []).includes(Buffer.from(payload.data ?? []))).toBe(false);
    expect(encoded?.data).not.toEqual(again?.data);
    expect(await createPayloadCodec([k2, k1]).decode([encoded ?? {}])).toEqual([payload]);
  });

  it.each([
    ['', nothing],
    [', as protobufjs writes it', { ...nothing, data: [] as unknown as Uint8Array }],
  ])('gives back a payload without data%s', async (_how, payload) => {
    const [decoded] = await createPayloadCodec([k1]).decode([await encode(payload)]);
    expect(decoded?.metadata).toEqual(nothing.metadata);
    expect(decoded?.data).toHaveLength(0);
  });

  it.each([
    ['a summary', json('sync items of con_a (manual)')],
    ['the current details of a workflow', json({ definition: { type: 'syncRun' }, currentDetails: '**items**' })],
  ])('leaves %s to operators', async (_what, payload) => {
    expect(await encode(payload)).toEqual(payload);
  });

  it('encrypts what only looks like current details', async () => {
    const payload = json({ definition: {}, currentDetails: '', token: 'x' });
    expect(payloadKeyId(await encode(payload))).toBe('k1');
  });

  it('takes what was stored before there was encryption', async () => {
    const payloads = [json({ runId: 'run_a' }), nothing, {}];
    expect(await createPayloadCodec([k1]).decode(payloads)).toEqual(payloads);
  });

  it('names the key that the ring lacks', async () => {
    const decoding = createPayloadCodec([k2]).decode([await encode(json({}))]);
    await expect(decoding).rejects.toThrow(UnknownPayloadKeyError);
    await expect(decoding).rejects.toThrow(/with key k1, which SECRETS_KEYS does not contain: add it again/);
  });

  it.each([
    ['another key of the same id', (payload: Payload) => payload, [{ ...k2, id: 'k1' }]],
    ['a turned bit', ({ metadata, data }: Payload) => ({ metadata, data: turned(data) }), [k1]],
    ['a cut payload', ({ metadata, data }: Payload) => ({ metadata, data: data?.subarray(0, 20) }), [k1]],
  ] as const)('refuses %s', async (_what, alter, ring) => {
    const altered = alter(await encode(json({ runId: 'run_a' }))) as Payload;
    await expect(createPayloadCodec(ring).decode([altered])).rejects.toThrow('The sealed value');
  });
});

const ofRun = { type: 'workflow', workflowId: 'sync:con:items:run_a' } as const;
const ofOther = { ...ofRun, workflowId: 'sync:con:items:run_b' };
const ofActivity = { type: 'activity', workflowId: ofRun.workflowId, activityId: '1' } as const;
const placeOf = (context: PayloadContext) => JSON.stringify(context);

describe('a payload that was sealed for a workflow or an activity', () => {
  const bound = createPayloadCodec([k1], { placeOf });
  const payload = json({ runId: 'run_a' });

  it('opens there, and for operators, who have no place', async () => {
    const sealed = await bound.encode([payload], ofRun);
    expect(await bound.decode(sealed, ofRun)).toEqual([payload]);
    expect(await createPayloadCodec([k1]).decode(sealed)).toEqual([payload]);
  });

  it.each([
    ['another workflow', ofOther],
    ['an activity of the workflow', ofActivity],
  ])('does not open in %s', async (_where, context) => {
    await expect(bound.decode(await bound.encode([payload], ofRun), context)).rejects.toThrow(
      'The sealed value is for',
    );
  });

  it('does not open where its name of the place was changed', async () => {
    const [sealed] = await bound.encode([payload], ofRun);
    const metadata = { ...sealed?.metadata, 'sealed-for': Buffer.from(placeOf(ofOther)) };
    await expect(bound.decode([{ ...sealed, metadata }], ofOther)).rejects.toThrow(
      'The sealed value cannot be decrypted',
    );
    const { 'sealed-for': _, ...without } = metadata;
    await expect(bound.decode([{ ...sealed, metadata: without }], ofOther)).rejects.toThrow(
      'The sealed value cannot be',
    );
  });
});

describe('a worker', () => {
  const refusal = (reason: string) => ({ refused: reason });
  const fromBefore = (value: unknown) => ({ before: value });
  const worker = createPayloadCodec([k1], { placeOf, refusal, fromBefore });
  const read = async (payload: Payload) => {
    const [decoded] = await worker.decode([payload], ofRun);
    return JSON.parse(Buffer.from(decoded?.data ?? []).toString());
  };

  it.each([
    ['plain JSON', async () => json({ runId: 'run_a' })],
    ['current details', async () => json({ definition: {}, currentDetails: '' })],
    ['no value', async () => nothing],
    ['no JSON', async () => ({ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{') })],
  ])('refuses %s that nobody sealed', async (_what, make) => {
    expect((await read(await make())).refused).toContain('not sealed by the key ring');
  });

  it('refuses what was altered, or is for another workflow', async () => {
    const [foreign] = await worker.encode([json(1)], ofOther);
    const [own] = await worker.encode([json(1)], ofRun);
    for (const payload of [foreign ?? {}, { ...own, data: turned(own?.data) }]) {
      expect((await read(payload)).refused).toContain('was sealed for another workflow or activity');
    }
    expect(await read(own ?? {})).toBe(1);
  });

  it('reads texts for operators, and still fails while the ring lacks a key', async () => {
    expect(await read(json('a summary'))).toBe('a summary');
    const lost = await createPayloadCodec([k2], { placeOf }).encode([json(1)], ofRun);
    await expect(worker.decode(lost, ofRun)).rejects.toThrow(UnknownPayloadKeyError);
  });

  it('is told what the version before sealed, for no place', async () => {
    const [sealed, none] = await sealedBefore([k1])([json({ runId: 'run_a' }), nothing]);
    expect(await read(sealed ?? {})).toEqual({ before: { runId: 'run_a' } });
    expect(await read(none ?? {})).toEqual({ before: null });
  });
});

function turned(data: Uint8Array | null | undefined): Uint8Array {
  const copy = Uint8Array.from(data ?? []);
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}
