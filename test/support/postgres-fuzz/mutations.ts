import { seededNumbers } from '../random/seeded.ts';

/** Numbers below a bound that a seed decides: the same seed gives the same cases. */
export function seeded(seed: number): (below: number) => number {
  const next = seededNumbers(seed);
  return (below) => next() % below;
}

/** One message of the protocol. */
export const messageOf = (type: string | number, body: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = typeof type === 'string' ? type.charCodeAt(0) : type;
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

/** What ends or freezes a driver that parses whatever comes. */
export const killers: readonly Buffer[] = [
  messageOf('R', Buffer.from([0, 0, 0, 99])),
  messageOf('R'),
  messageOf('T'),
  messageOf('D'),
  messageOf('T', Buffer.from([0x7f, 0xff])),
  messageOf('E'),
  messageOf('N'),
  messageOf('G'),
  messageOf('t'),
  Buffer.from([0x52, 0, 0, 0, 0]),
  Buffer.from([0x45, 0xff, 0xff, 0xff, 0xff]),
  Buffer.concat(Array.from({ length: 1000 }, () => messageOf('R', Buffer.from('\0\0\0\x0br=x,s=eA==,i=99999999')))),
];

/** The messages in some bytes of a server. */
export function framesOf(bytes: Buffer): readonly Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 1 + bytes.readUInt32BE(at + 1);
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}

/** The response of a recording with one to three changes, and sometimes cut. */
export function mutate(response: Buffer, random: (below: number) => number): Buffer {
  let frames = [...framesOf(response)];
  for (let changes = 1 + random(3); changes > 0; changes -= 1) frames = change(frames, random);
  const bytes = Buffer.concat(frames);
  return random(5) === 0 ? bytes.subarray(0, random(bytes.length + 1)) : bytes;
}

const extremes = [0, 1, 2, 3, 4, 5, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

function change(frames: readonly Buffer[], random: (below: number) => number): Buffer[] {
  const at = random(frames.length);
  const frame = Buffer.from(frames[at] ?? messageOf('Z', Buffer.from('I')));
  const put = (...other: Buffer[]) => [...frames.slice(0, at), ...other, ...frames.slice(at + 1)];
  const spot = random(frame.length);
  const extreme = extremes[random(extremes.length)] ?? 0;
  switch (random(10)) {
    case 0:
      frame[spot] = random(256);
      return put(frame);
    case 1:
      frame.writeUInt32BE(extreme, 1);
      return put(frame);
    case 2:
      if (frame.length >= 7) frame.writeUInt16BE(extreme & 0xffff, 5);
      return put(frame);
    case 3:
      if (spot + 4 <= frame.length) frame.writeUInt32BE(extreme, spot);
      return put(frame);
    case 4:
      return put(messageOf(random(256), frame.subarray(5)));
    case 5:
      return put(messageOf(random(256), Buffer.from(Array.from({ length: random(40) }, () => random(256)))), frame);
    case 6:
      return put(...Array.from({ length: 2 + random(200) }, () => frame));
    case 7:
      return put();
    case 8:
      return put(frames[random(frames.length)] ?? frame, frame);
    default:
      return put(killers[random(killers.length)] ?? frame, frame);
  }
}
