export type * from './api.gen.ts';
export { type Client, createClient } from './client.ts';
export { ApiError, type ErrorCode, NetworkError } from './errors.ts';
export { type FollowOptions, finishedRun, followRun } from './follow-run.ts';
export type { OperationName, OptionsOf, RequestOptions, ResponseOf } from './operations.ts';
export type { RetryOptions } from './retry.ts';
export type { ClientOptions } from './send.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from './webhooks.ts';
