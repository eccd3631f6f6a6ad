import * as v from 'valibot';

/** `GET /api/health`: the process responds; nothing else is checked. */
export const Health = v.object({ status: v.literal('ok'), service: v.string() });
export const Ready = v.object({ status: v.literal('ready') });
/** `detail` names what is missing. */
export const NotReady = v.object({ status: v.literal('not_ready'), detail: v.string() });
