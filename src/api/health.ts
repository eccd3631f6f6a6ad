import * as v from 'valibot';

/** `GET /api/health`: the process responds; nothing else is checked. */
export const Health = v.object({ status: v.literal('ok'), service: v.string() });
/** `GET /api/health/ready` when requests can be served. */
export const Ready = v.object({ status: v.literal('ready') });
/** `GET /api/health/ready` when they cannot; `detail` says what is missing. */
export const NotReady = v.object({ status: v.literal('not_ready'), detail: v.string() });
