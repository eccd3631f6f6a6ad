import * as v from 'valibot';

export const AuthorizationSettings = v.object({
  returnOrigins: v.pipe(
    v.array(v.string()),
    v.description('The origins that `returnUrl` may have.'),
    v.examples([['https://app.acme.example']]),
  ),
  confirmationRequired: v.pipe(
    v.boolean(),
    v.description('Whether every authorization needs a `returnUrl`, and is confirmed by `POST /oauth/confirm`.'),
  ),
});
export type AuthorizationSettings = v.InferOutput<typeof AuthorizationSettings>;
