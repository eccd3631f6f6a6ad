/** IPC messages between supervisor and process. */

/** Sent once by a process that is ready. */
export const readyMessage = 'ready';

/** Sent by the supervisor each second. */
export const probe = 'probe';

export const response = 'response';
