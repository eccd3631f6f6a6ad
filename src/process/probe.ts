/** What supervisor and process say to each other over IPC. */

/** What a process says once: it does its work. */
export const readyMessage = 'ready';

/** What the supervisor asks each second: are you there? */
export const probe = 'probe';

/** What a process says to each {@link probe}. */
export const response = 'response';
