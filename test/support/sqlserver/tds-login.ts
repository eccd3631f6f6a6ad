/** What a client logs in with. */
export interface TdsLogin {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Of Entra ID; null: none. */
  readonly token: string | null;
}

/** Where LOGIN7 (MS-TDS 2.2.6.4) says where its texts are. */
const places = { user: 40, password: 44, extension: 56, database: 68 } as const;
const hasExtension = 0x10;
const fedAuth = 0x02;
const end = 0xff;

/** Reads the message of a login. */
export function readLogin(data: Buffer): TdsLogin {
  const textAt = (place: number): Buffer => {
    const at = data.readUInt16LE(place);
    return data.subarray(at, at + 2 * data.readUInt16LE(place + 2));
  };
  return {
    user: textAt(places.user).toString('utf16le'),
    password: unscrambled(textAt(places.password)).toString('utf16le'),
    database: textAt(places.database).toString('utf16le'),
    token: (data.readUInt8(27) & hasExtension) === 0 ? null : readToken(data),
  };
}

/** Passwords are sent with their nibbles swapped, and a constant over them. */
function unscrambled(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (((byte ^ 0xa5) << 4) & 0xf0) | ((byte ^ 0xa5) >> 4)));
}

/** The features of a login follow each other; that of Entra ID has options, then a token with its length. */
function readToken(data: Buffer): string | null {
  let at = data.readUInt32LE(data.readUInt16LE(places.extension));
  for (let feature = data.readUInt8(at); feature !== end; feature = data.readUInt8(at)) {
    const length = data.readUInt32LE(at + 1);
    if (feature === fedAuth) return data.toString('utf16le', at + 10, at + 10 + data.readUInt32LE(at + 6));
    at += 5 + length;
  }
  return null;
}
