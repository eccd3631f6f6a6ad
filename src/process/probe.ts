/** What supervisor and process say to each other over IPC. */

/** Of a process, once: it does its work. */
export const readyMessage = 'ready';

/** Of the supervisor, each second: are you there? */
export const probe = 'probe';

/** Of a process, to each {@link probe}. */
export const response = 'response';
