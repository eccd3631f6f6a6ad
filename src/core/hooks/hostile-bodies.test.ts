import { describe, expect, it } from 'vitest';
import { dedupeKey } from './dedupe-key.ts';
import { slackHandshake } from './handshake.ts';

const bodyOf = (fields: object) => Buffer.from(JSON.stringify(fields));
/** Parsed, 1 MB of these takes 100 ms of the thread that serves everybody. */
const tiny = Array.from({ length: 300_000 }, () => []);

describe('a body with hundreds of thousands of values', () => {
  it('is not parsed for its id, and compared as a whole', () => {
    const hook = { verification: { kind: 'none' }, dedupe: { by: 'pointer', pointer: '/id' } } as const;
    const of = (fields: object) => dedupeKey(hook, { header: () => null, body: bodyOf(fields) });
    expect(of({ id: 'evt_1', list: tiny.slice(0, 5000) })).toMatchObject({ hasId: true });
    expect(of({ id: 'evt_1', list: tiny })).toMatchObject({ hasId: false });
  });

  it('is no challenge of Slack', () => {
    const challenge = { type: 'url_verification', challenge: 'c' };
    expect(slackHandshake(bodyOf(challenge))).toMatchObject({ body: 'c' });
    expect(slackHandshake(bodyOf({ ...challenge, list: tiny }))).toBeNull();
  });
});
