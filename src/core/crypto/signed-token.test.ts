import { describe, expect, it } from 'vitest';
import { signToken, verifyToken } from './signed-token.ts';

const ringOf = (...ids: readonly string[]) => ids.map((id) => ({ id, key: new Uint8Array(32).fill(id.charCodeAt(1)) }));
const kind = { type: 'test+jwt', audience: 'test' };
const sign = (ring = ringOf('k1'), ttlSeconds = 60) =>
  signToken(ring, kind, { claims: { sub: 'con_1', jti: 'j' }, ttlSeconds });
const verify = (token: string, { ring = ringOf('k1'), as = kind, requiredClaims = ['sub'] } = {}) =>
  verifyToken(ring, as, { token, requiredClaims });

describe('a signed token', () => {
  it('gives its claims back', async () => {
    expect(await verify(await sign())).toMatchObject({ sub: 'con_1', jti: 'j', aud: 'test' });
  });

  it('is signed by the first key of the ring, and verified by any', async () => {
    const old = await sign(ringOf('k1'));
    expect(await verify(old, { ring: ringOf('k2', 'k1') })).not.toBeNull();
    expect(await verify(await sign(ringOf('k2', 'k1')), { ring: ringOf('k2') })).not.toBeNull();
  });

  it.each([
    ['its key has left the ring', { ring: ringOf('k2') }],
    ['its key has another value', { ring: [{ id: 'k1', key: new Uint8Array(32) }] }],
    ['it is of another type', { as: { ...kind, type: 'other+jwt' } }],
    ['it is for another audience', { as: { ...kind, audience: 'other' } }],
    ['a claim is missing', { requiredClaims: ['sub', 'org'] }],
  ])('is nothing when %s', async (_name, options) => {
    expect(await verify(await sign(), options)).toBeNull();
  });

  it.each(['', 'abc', 'a.b.c', `${'x'.repeat(10_000)}.y.z`])('is not %s', async (token) => {
    expect(await verify(token)).toBeNull();
  });

  it('is nothing when it is over', async () => {
    expect(await verify(await sign(ringOf('k1'), -1))).toBeNull();
  });
});
