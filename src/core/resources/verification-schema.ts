import * as v from 'valibot';

const HeaderName = v.pipe(
  v.string(),
  v.maxLength(100),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'expected the name of a header'),
);

const Hmac = v.object({
  kind: v.literal('hmac'),
  header: v.pipe(HeaderName, v.description('Where the signature is.'), v.examples(['x-acme-signature'])),
  algorithm: v.optional(v.picklist(['sha1', 'sha256', 'sha512']), 'sha256'),
  encoding: v.optional(v.picklist(['hex', 'base64']), 'hex'),
  prefix: v.pipe(
    v.optional(v.pipe(v.string(), v.maxLength(50)), ''),
    v.description('The prefix of the signature in its header.'),
    v.examples(['sha256=']),
  ),
  content: v.pipe(
    v.optional(v.picklist(['body', 'timestamp.body']), 'body'),
    v.description('What is signed; with `timestamp.body` the time, a dot and the body.'),
  ),
  timestampHeader: v.pipe(
    v.optional(v.nullable(HeaderName), null),
    v.description('Where the time is, in whole seconds: with `timestamp.body`, and only then, as it must be signed.'),
  ),
  toleranceSeconds: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3600)), 300),
    v.description('How far that time may differ from the time of the service.'),
  ),
});

/** Proof that a request comes from the upstream, without the secret needed for it. */
export const Verification = v.variant('kind', [
  v.object({ kind: v.picklist(['standard_webhooks', 'github', 'stripe', 'shopify', 'slack']) }),
  Hmac,
  v.object({ kind: v.literal('header_secret'), header: HeaderName }),
  v.object({ kind: v.literal('none') }),
]);
export type Verification = v.InferOutput<typeof Verification>;

export const Dedupe = v.variant('by', [
  v.object({
    by: v.literal('header'),
    name: v.pipe(
      HeaderName,
      v.description('Where the id is. If there is a signature that does not cover it, the body counts with it.'),
    ),
  }),
  v.object({
    by: v.literal('pointer'),
    pointer: v.pipe(
      v.string(),
      v.maxLength(200),
      v.regex(/^(?:\/(?:[^/~]|~[01])*)+$/, 'expected a JSON pointer such as /event/id'),
      v.description(
        'A JSON pointer into the body; without a value there, or with tens of thousands of values, the whole body is compared.',
      ),
    ),
  }),
  v.object({ by: v.literal('body') }),
  v.object({ by: v.literal('nothing') }),
]);
export type Dedupe = v.InferOutput<typeof Dedupe>;
