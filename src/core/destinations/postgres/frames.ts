/**
 * Checks the messages of a customer's server before the driver sees them. The driver parses in a socket callback: an exception
 * there would end the process, and an endless list would freeze it. It also buffers without a limit. So a message passes only if
 * this client can need it at this point. Its counts, lengths and texts must end exactly where the message ends.
 */
import { broken, MessageReader, PostgresProtocolError } from './message.ts';

export interface ResponseLimits {
  readonly bytesMax: number;
  readonly rowsMax: number;
}

export interface FrameChecker {
  /** Returns whole, checked messages, at most one buffer of them. Throws {@link PostgresProtocolError}. */
  push(chunk: Buffer): Buffer | null;
  /** Expects one more response, after those in progress. */
  expectResponse(limits: ResponseLimits): void;
}

/** Login: parameters and a handful of short messages; real servers send less than 1 KB. */
const loginLimits: ResponseLimits = { bytesMax: 65_536, rowsMax: 0 };
/** Bytes of a session while no statement is in progress: notices, changed parameters, the goodbye of a shutdown. */
const idleBytesMax = 65_536;
/** PostgreSQL's own limit. */
const columnsMax = 1664;
/**
 * Results, columns and cells of a response. For each the driver keeps objects a hundred times as large as the bytes that announce
 * them. The service's own statements have about 1000 rows of a few columns.
 */
const partsMax = 50_000;
/** Type and length. */
const headerBytes = 5;

export function createFrameChecker(): FrameChecker {
  const session: SessionState = {
    phase: 'login',
    limits: loginLimits,
    expected: [],
    bytes: 0,
    rows: 0,
    parts: 0,
    idleBytes: 0,
    columns: null,
    authentications: new Set(),
  };
  let held = Buffer.alloc(0);
  let heldBytes = 0;

  const hold = (chunk: Buffer): void => {
    if (heldBytes + chunk.length > held.length) {
      // Doubled, so that a message that arrives byte by byte is copied a bounded number of times.
      const grown = Buffer.allocUnsafe(Math.max(2 * held.length, heldBytes + chunk.length, 1024));
      held.copy(grown, 0, 0, heldBytes);
      held = grown;
    }
    chunk.copy(held, heldBytes);
    heldBytes += chunk.length;
  };

  return {
    expectResponse(limits) {
      session.expected.push(limits);
      if (session.phase === 'idle') beginNext(session);
    },
    push(chunk) {
      if (heldBytes > 0) hold(chunk);
      const bytes = heldBytes > 0 ? held.subarray(0, heldBytes) : chunk;
      const end = checkFrames(bytes, session);
      if (end === bytes.length) {
        held = Buffer.alloc(0);
        heldBytes = 0;
        return bytes;
      }
      const rest = bytes.subarray(end);
      if (heldBytes === 0 || end > 0) {
        held = Buffer.alloc(0);
        heldBytes = 0;
        hold(rest);
      }
      return end > 0 ? bytes.subarray(0, end) : null;
    },
  };
}

interface SessionState {
  /** `idle`: logged in, and no statement is in progress. */
  phase: 'login' | 'idle' | 'statement';
  limits: ResponseLimits;
  readonly expected: ResponseLimits[];
  /** So far, of the login or the response; {@link partsMax} limits the parts. */
  bytes: number;
  rows: number;
  parts: number;
  idleBytes: number;
  /** `null` if no result was described. */
  columns: number | null;
  /** Requests of the login so far. Each may come once, or a server could make this client derive keys forever. */
  readonly authentications: Set<number>;
}

function beginNext(session: SessionState): void {
  const limits = session.expected.shift();
  session.phase = limits ? 'statement' : 'idle';
  session.limits = limits ?? loginLimits;
  session.bytes = 0;
  session.rows = 0;
  session.parts = 0;
  session.columns = null;
}

/** Returns the end of the last complete message. */
function checkFrames(bytes: Buffer, session: SessionState): number {
  let at = 0;
  while (at + headerBytes <= bytes.length) {
    const length = bytes.readUInt32BE(at + 1);
    if (length < 4) throw broken();
    count(session, length + 1);
    const end = at + 1 + length;
    if (end > bytes.length) {
      // It is counted once it is whole.
      count(session, -(length + 1));
      break;
    }
    checkMessage(bytes[at] ?? 0, new MessageReader(bytes, at + headerBytes, end), session);
    at = end;
  }
  return at;
}

/** Announced bytes count before they arrive. */
function count(session: SessionState, bytes: number): void {
  if (session.phase === 'idle') {
    session.idleBytes += bytes;
    if (session.idleBytes > idleBytesMax) throw tooMuch();
    return;
  }
  session.bytes += bytes;
  if (session.bytes > session.limits.bytesMax) throw tooMuch();
}

function keep(session: SessionState, parts: number): void {
  session.parts += parts;
  if (session.parts > partsMax) throw tooMuch();
}

function checkMessage(type: number, message: MessageReader, session: SessionState): void {
  const check = checks.get(String.fromCharCode(type));
  if (!check?.phases.includes(session.phase)) throw broken();
  check.read(message, session);
  message.end();
}

interface MessageCheck {
  readonly phases: readonly SessionState['phase'][];
  readonly read: (message: MessageReader, session: SessionState) => void;
}

const always = ['login', 'idle', 'statement'] as const;
const inStatement = ['statement'] as const;
const nothing = () => undefined;

/** Messages that this client can need, by type. No copy, no function call, no replication. */
const checks: ReadonlyMap<string, MessageCheck> = new Map<string, MessageCheck>([
  // Authentication, BackendKeyData, ParameterStatus
  ['R', { phases: ['login'], read: checkAuthentication }],
  ['K', { phases: ['login'], read: (message) => message.skip(8) }],
  ['S', { phases: always, read: checkParameter }],
  // ErrorResponse, NoticeResponse, ReadyForQuery
  ['E', { phases: always, read: checkErrorFields }],
  ['N', { phases: always, read: checkErrorFields }],
  ['Z', { phases: ['login', 'statement'], read: checkReady }],
  // ParseComplete, BindComplete, NoData, EmptyQueryResponse
  ['1', { phases: inStatement, read: nothing }],
  ['2', { phases: inStatement, read: nothing }],
  ['n', { phases: inStatement, read: nothing }],
  ['I', { phases: inStatement, read: nothing }],
  // RowDescription, DataRow, CommandComplete
  ['T', { phases: inStatement, read: checkRowDescription }],
  ['D', { phases: inStatement, read: checkRow }],
  ['C', { phases: inStatement, read: checkCompletion }],
]);

/** Ok, and the password methods that the driver knows: clear text, MD5, and three steps of SASL. */
const [ok, clearText, md5, sasl, saslContinue, saslFinal] = [0, 3, 5, 10, 11, 12] as const;

function checkAuthentication(message: MessageReader, { authentications }: SessionState): void {
  const kind = message.int32();
  if (authentications.has(kind) || authentications.has(ok)) throw broken();
  authentications.add(kind);
  switch (kind) {
    case ok:
    case clearText:
      return;
    case md5:
      return message.skip(4);
    case sasl:
      while (message.text() > 0);
      return;
    case saslContinue:
    case saslFinal:
      return message.skipRest();
    default:
      throw new PostgresProtocolError('the server requires a login method that is not supported; use a password');
  }
}

function checkParameter(message: MessageReader): void {
  message.text();
  message.text();
}

function checkCompletion(message: MessageReader, session: SessionState): void {
  message.text();
  keep(session, 1);
  session.columns = null;
}

function checkReady(message: MessageReader, session: SessionState): void {
  if (!'ITE'.includes(String.fromCharCode(message.byte()))) throw broken();
  if (session.phase === 'login' && !session.authentications.has(ok)) throw broken();
  beginNext(session);
}

function checkErrorFields(message: MessageReader): void {
  while (message.byte() !== 0) message.text();
}

function checkRowDescription(message: MessageReader, session: SessionState): void {
  const columns = message.int16();
  if (columns < 0 || columns > columnsMax) throw broken();
  keep(session, columns);
  for (let column = 0; column < columns; column += 1) {
    message.text();
    // Table, column, type, its size and modifier.
    message.skip(16);
    // Text, the only requested format.
    if (message.int16() !== 0) throw broken();
  }
  session.columns = columns;
}

function checkRow(message: MessageReader, session: SessionState): void {
  if (message.int16() !== session.columns) throw broken();
  keep(session, session.columns);
  for (let column = 0; column < session.columns; column += 1) {
    const length = message.int32();
    if (length < -1) throw broken();
    if (length > 0) message.skip(length);
  }
  session.rows += 1;
  if (session.rows > session.limits.rowsMax) throw tooMuch();
}

const tooMuch = (): PostgresProtocolError =>
  new PostgresProtocolError('the response is larger than any that was requested; check host and port');
