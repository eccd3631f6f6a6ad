import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import { pino } from 'pino';
import type { LogLevel } from './config/config.ts';
import { safeMessage } from './core/safe-message.ts';
import { idsOfWork } from './core/work-ids.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Writes one JSON line per call: a constant message, variable facts as fields, and the ids of its work. */
export interface Log {
  readonly trace: (message: string, fields?: LogFields) => void;
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
  readonly child: (fields: LogFields) => Log;
}

/** True if the level shows each request, statement and batch. */
export const isDetailed = (level: LogLevel): boolean => level === 'debug' || level === 'trace';

export interface LogOptions {
  readonly level: LogLevel;
  readonly name: string;
  /** Takes the finished lines; stdout by default. */
  readonly destination?: { write(line: string): void };
}

/**
 * At any depth, drops fields named like secrets, and masks API keys and passwords of URLs. Messages of errors from outside
 * this project are left out.
 */
export function createLog({ level, name, destination }: LogOptions): Log {
  const options = {
    level,
    base: { name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
  };
  const formatters = { level: (label: string) => ({ level: label }) };
  return wrap(pino({ ...options, formatters }, destination ?? pino.destination({ dest: 1, sync: true })));
}

export function maskSecrets(text: string): string {
  // Fast path for nearly every text; the line of each request has several.
  if (!text.includes('ck_') && !text.includes('://')) return text;
  return text.replace(/\bck_[A-Za-z0-9_-]+/g, 'ck_***').replace(/(:\/\/[^/\s:@]*):[^/\s@]*@/g, '$1:***@');
}

type Writer = Pick<pino.Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

/** `carried` is clean; fields of the call override it, so that each name occurs once. */
function wrap(writer: Writer, carried: object = {}): Log {
  const at =
    (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      // The SDK writes several usually hidden lines for each activity; cleaning them is most of their cost.
      if (writer.isLevelEnabled(level))
        writer[level]({ ...idsOfWork(), ...carried, ...Object(clean(fields, 0)) }, maskSecrets(message));
    };
  return {
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => wrap(writer, { ...carried, ...Object(clean(fields, 0)) }),
  };
}

const secretName = /secret|token|passw|authorization|cookie|credential|api[-_]?key|private[-_]?key/i;
/** Depth below which values are cut: a log line is not a dump. */
const depthMax = 6;

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskSecrets(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) return '[deeper]';
  // An error of a workflow comes from another realm.
  if (types.isNativeError(value) || value instanceof Error) return cleanError(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  const kept = Object.entries(value).filter(([name]) => !secretName.test(name));
  return Object.fromEntries(kept.map(([name, item]) => [name, clean(item, depth + 1)]));
}

/** The folder of this project, in both forms that stack frames use. */
const root = new URL('..', import.meta.url);
const ownCode = [root.href, fileURLToPath(root)];
/** Extra fields of errors from the system, PostgreSQL and HTTP; none holds a value. */
const plainFacts = ['code', 'syscall', 'severity', 'routine', 'schema', 'table', 'column', 'constraint', 'statusCode'];
/** Kept stack frames: where it was thrown, and our files on the way. */
const framesMax = 5;

/**
 * Shows the message only if this project made the error: the engine or a library may repeat its input, even a secret. Other
 * errors keep their type, codes and origin, and only the {@link safeMessage} of their text.
 */
export function cleanError(error: Error, depth = 0): LogFields {
  const frames = framesOf(error);
  const facts = plainFacts.flatMap((name) => {
    const value: unknown = Reflect.get(error, name);
    return value === undefined ? [] : [[name, clean(value, depth + 1)]];
  });
  const message = isOwn(error, frames[0] ?? '') ? error.message : safeMessage(error);
  const kept = frames.filter((frame, index) => index === 0 || isOwnFrame(frame)).slice(0, framesMax);
  return {
    type: error.name,
    ...Object.fromEntries(facts),
    ...(message !== null && { message: maskSecrets(message) }),
    stack: maskSecrets(kept.map(withinProject).join('\n')),
    ...(error.cause !== undefined && { cause: clean(error.cause, depth + 1) }),
  };
}

/** Without the message, whose lines may look like frames. */
function framesOf({ stack = '', message }: Error): readonly string[] {
  const at = stack.indexOf(message);
  return at < 0
    ? []
    : stack
        .slice(at + message.length)
        .split('\n')
        .filter((line) => line.startsWith('    at '));
}

const isOwnFrame = (frame: string): boolean =>
  ownCode.some((place) => frame.includes(place)) && !frame.includes('/node_modules/');

const withinProject = (frame: string): string => ownCode.reduce((text, place) => text.replace(place, ''), frame);

/** Excludes errors of V8, whose stacks begin in this project too. */
const isOwn = (error: Error, firstFrame: string): boolean =>
  (error.constructor === Error || !(error.constructor.name in globalThis)) && isOwnFrame(firstFrame);
