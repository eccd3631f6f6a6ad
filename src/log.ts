import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import { pino } from 'pino';
import type { LogLevel } from './config/config.ts';
import { safeMessage } from './core/safe-message.ts';
import { idsOfWork } from './core/work-ids.ts';

/** Facts beside a constant message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes one JSON line per call: a constant message, what varies as fields, and the ids of the work that it is about. */
export interface Log {
  readonly trace: (message: string, fields?: LogFields) => void;
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
  /** A log whose every line carries `fields` too. */
  readonly child: (fields: LogFields) => Log;
}

/** Whether the level shows each request, statement and batch. */
export const isDetailed = (level: LogLevel): boolean => level === 'debug' || level === 'trace';

/** How a log is made. */
export interface LogOptions {
  readonly level: LogLevel;
  /** The process that writes, for example `api`. */
  readonly name: string;
  /** Takes the finished lines; stdout when absent. */
  readonly destination?: { write(line: string): void };
}

/**
 * A log of JSON lines. Fields named like secrets are dropped, API keys and passwords of URLs masked, at any depth, and of
 * errors that are not of this project the messages are left out.
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

/** The text without API keys and without the passwords of URLs. */
export function maskSecrets(text: string): string {
  // Of nearly every text this is all that is looked at; there are several in the line of each request.
  if (!text.includes('ck_') && !text.includes('://')) return text;
  return text.replace(/\bck_[A-Za-z0-9_-]+/g, 'ck_***').replace(/(:\/\/[^/\s:@]*):[^/\s@]*@/g, '$1:***@');
}

type Writer = Pick<pino.Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>;

/** `carried` is clean. The fields of a line win over those that it carries: a name stands once in it. */
function wrap(writer: Writer, carried: object = {}): Log {
  const at =
    (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}): void => {
      // The SDK writes several lines for each activity that nobody wants to see; cleaning them is most of their cost.
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
/** The depth below which values are cut: a log line is not a dump. */
const depthMax = 6;

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskSecrets(value);
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) return '[deeper]';
  // One of a workflow comes from another realm.
  if (types.isNativeError(value) || value instanceof Error) return cleanError(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  const kept = Object.entries(value).filter(([name]) => !secretName.test(name));
  return Object.fromEntries(kept.map(([name, item]) => [name, clean(item, depth + 1)]));
}

/** Where this project is, in both ways in which frames of a stack name it. */
const root = new URL('..', import.meta.url);
const ownCode = [root.href, fileURLToPath(root)];
/** What errors of the system, of PostgreSQL and of HTTP say besides, none of which holds a value. */
const plainFacts = ['code', 'syscall', 'severity', 'routine', 'schema', 'table', 'column', 'constraint', 'statusCode'];
/** Frames of a stack that are kept: where it was thrown, and through which of our files it came. */
const framesMax = 5;

/**
 * What may be shown of an error: the message of one that this project made. What the engine or a library says may repeat
 * what it was given, a secret among it: of such an error it keeps what it is, its codes, where it came from, and of what it
 * says only {@link safeMessage}.
 */
export function cleanError(error: Error, depth = 0): LogFields {
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
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
    stack: kept.map(withinProject).join('\n'),
    ...(error.cause !== undefined && { cause: clean(error.cause, depth + 1) }),
  };
}

const isOwnFrame = (frame: string): boolean =>
  ownCode.some((place) => frame.includes(place)) && !frame.includes('/node_modules/');

/** Paths begin in the folder of the project. */
const withinProject = (frame: string): string => ownCode.reduce((text, place) => text.replace(place, ''), frame);

/** Whether an error is of our code and not of V8, whose stack begins in this project too. */
const isOwn = (error: Error, firstFrame: string): boolean =>
  (error.constructor === Error || !(error.constructor.name in globalThis)) && isOwnFrame(firstFrame);
