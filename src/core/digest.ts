import { hash } from 'node:crypto';

/** The form of every fingerprint, of whatever text it is. */
export const digestOf = (text: string): string => hash('sha256', text, 'base64url');
