import { createHmac, pbkdf2Sync } from 'node:crypto';
import { messageOf } from './mutations.ts';

/** What a server says next: the same each time, or after what the client has just sent. */
export type Response = Buffer | ((sent: Buffer) => Buffer);

/** The password of every session. */
export const password = 'p';

const salt = Buffer.from('salt');
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const authentication = (kind: number, ...parts: readonly (Buffer | string)[]): Buffer =>
  messageOf('R', Buffer.concat([int32(kind), ...parts.map((part) => Buffer.from(part))]));

/** What a server says before the first message of a session, by the kind of its login. */
export const logins = {
  'no password': () => [],
  'clear text': () => [authentication(3)],
  MD5: () => [authentication(5, salt)],
  'SCRAM-SHA-256': scram,
} as const satisfies Readonly<Record<string, (iterations: number) => readonly Response[]>>;

/** RFC 5802 from the side of the server: its texts hold the nonce of the client, and prove that it knows the password. */
function scram(iterations: number): readonly Response[] {
  let clientFirst = '';
  let serverFirst = '';
  return [
    authentication(10, 'SCRAM-SHA-256\0\0'),
    (sent) => {
      clientFirst = /n=.*,r=.*$/s.exec(sent.toString('latin1'))?.[0] ?? '';
      const nonce = /r=(.*)$/s.exec(clientFirst)?.[1] ?? '';
      serverFirst = `r=${nonce}server,s=${salt.toString('base64')},i=${iterations}`;
      return authentication(11, serverFirst);
    },
    (sent) => {
      const clientFinal = /c=[^,]*,r=[^,]*/.exec(sent.toString('latin1'))?.[0] ?? '';
      // A client that takes so many iterations never gets here.
      const salted = pbkdf2Sync(password, salt, Math.min(Math.max(iterations, 1), 4096), 32, 'sha256');
      const key = createHmac('sha256', salted).update('Server Key').digest();
      const signature = createHmac('sha256', key)
        .update(`${clientFirst},${serverFirst},${clientFinal}`)
        .digest('base64');
      return authentication(12, `v=${signature}`);
    },
  ];
}

/** A message of the login that becomes one of another kind: each that PostgreSQL has, and two that it has not. */
export function asOtherKind(response: Buffer, random: (below: number) => number): Buffer {
  const changed = Buffer.from(response);
  if (changed.length >= 9) changed.writeUInt32BE(random(15), 5);
  return changed;
}
