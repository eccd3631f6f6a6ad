import * as v from 'valibot';
import { field, wholeNumber } from './field.ts';
import { Template } from './http-schema.ts';
import { strictObject } from './strict-object.ts';

export const Put = field(
  v.optional(
    strictObject({
      in: field(v.optional(v.picklist(['header', 'query', 'cookie']), 'header'), 'The part of the request.'),
      name: field(v.optional(v.string(), 'Authorization'), 'The header, query parameter or cookie.'),
      prefix: field(v.optional(v.string(), 'Bearer '), 'The text before the token.'),
    }),
    {},
  ),
  'Where the token goes in each request.',
  { in: 'header', name: 'X-Auth-Token', prefix: '' },
);

/** A lifetime in seconds, at most a year. */
export const Seconds = wholeNumber(0, 31_536_000);
export const TokenUrl = field(Template, 'The address that issues tokens.', 'https://auth.acme.example/oauth/token');

export const TokenRequest = field(
  v.optional(v.picklist(['form', 'json']), 'form'),
  'The body of token requests: a form (RFC 6749), or a JSON object with the same fields.',
);
