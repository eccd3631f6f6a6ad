import { fileURLToPath } from 'node:url';
import type { Logger as TemporalLogger } from '@temporalio/common';
import { pino } from 'pino';
import type { LogLevel } from './config/config.ts';

/** Facts beside a constant message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes one JSON line per call: a constant message, and what varies as fields. */
export interface Log {
  readonly trace: (message: string, fields?: LogFields) => void;
  readonly debug: (message: string, fields?: LogFields) => void;
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
  /** A log whose every line carries `fields` too. */
  readonly child: (fields: LogFields) => Log;
}

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

/** What the SDK warns of although it is meant: only the queue of workflows has workflows. */
const meant = 'No workflows registered, not polling for workflow tasks';

/** The same log in the form Temporal's `Runtime.install` takes, so that the SDK's lines are ours in form. */
export function temporalLogger(log: Log): TemporalLogger {
  const warn: Log['warn'] = (message, fields) => (message === meant ? log.debug : log.warn)(message, fields);
  const at = { TRACE: log.trace, DEBUG: log.debug, INFO: log.info, WARN: warn, ERROR: log.error } as const;
  return {
    log: (level, message, meta) => at[level](message, meta),
    trace: (message, meta) => log.trace(message, meta),
    debug: (message, meta) => log.debug(message, meta),
    info: (message, meta) => log.info(message, meta),
    warn: (message, meta) => warn(message, meta),
    error: (message, meta) => log.error(message, meta),
  };
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
        writer[level]({ ...carried, ...Object(clean(fields, 0)) }, maskSecrets(message));
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
  if (value instanceof Error) return cleanError(value, depth);
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

/**
 * What may be shown of an error: the message of one that this project made. What the engine or a library says may repeat
 * what it was given, a secret among it: of such an error it keeps what it is, its codes, and where it came from.
 */
export function cleanError(error: Error, depth = 0): LogFields {
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const facts = plainFacts.flatMap((name) => {
    const value: unknown = Reflect.get(error, name);
    return value === undefined ? [] : [[name, clean(value, depth + 1)]];
  });
  return {
    type: error.name,
    ...Object.fromEntries(facts),
    ...(isOwn(error, frames[0] ?? '') && { message: maskSecrets(error.message) }),
    stack: frames.join('\n'),
    ...(error.cause !== undefined && { cause: clean(error.cause, depth + 1) }),
  };
}

/** Whether an error is of our code and not of V8, whose stack begins in this project too. */
const isOwn = (error: Error, firstFrame: string): boolean =>
  (error.constructor === Error || !(error.constructor.name in globalThis)) &&
  ownCode.some((place) => firstFrame.includes(place)) &&
  !firstFrame.includes('/node_modules/');
