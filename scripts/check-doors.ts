/**
 * Doors are the files of a room that other rooms may import, types included. In an unlisted room, every file is one.
 * The first is the front door, which begins with the purpose of the room. Part of `npm run check`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOfService } from './imports.ts';

/** Below the room and without `.ts`. */
const doors: Readonly<Record<string, readonly string[]>> = {
  activities: ['index'],
  workflows: ['index', 'contract', 'bound-inputs', 'input-ids'],
  'src/admin': ['commands', 'command', 'explain-error', 'doctor/doctor'],
  'src/admin/doctor': ['doctor'],
  'src/api/openapi': ['openapi'],
  'src/api/reference': ['reference'],
  'src/cli': ['program'],
  'src/api/routes': ['index'],
  'src/maintenance': ['maintenance', 'schedule-sweep'],
  'src/telemetry': ['telemetry', 'metrics/core-exporter'],
  'src/telemetry/metrics': ['metrics', 'core-exporter'],
  'src/telemetry/traces': ['traces'],
  'src/core/destinations': ['destination', 'registry', 'retyped-columns', 'target-table', 'webhook/outbox'],
  'src/core/destinations/postgres': ['postgres'],
  'src/core/destinations/sqlserver': ['sqlserver'],
  'src/core/destinations/sqlserver/driver': ['session', 'entra', 'entra-client', 'login', 'messages'],
  'src/core/destinations/webhook': ['webhook', 'outbox'],
  'src/core/expressions': [
    'evaluation',
    'bindings-text',
    'body-fields',
    'compiled-evaluator',
    'compiled/plain-json',
    'costly-expression',
    'evaluator-pool',
    'expression',
    'expression-parser',
    'jsonata-functions',
    'plain-path',
    'references',
    'template',
    'template-parts',
  ],
  'src/core/expressions/compiled': ['compile', 'clean-result', 'plain-json', 'plain-values', 'split', 'values'],
  'src/core/http': [
    'client',
    'addresses',
    'concurrency',
    'egress',
    'egress-blocked',
    'logged-call',
    'mask-error',
    'next-wait',
    'origin',
    'post-error',
    'proxy-tunnel',
    'redact',
    'retry',
    'sockets',
    'url-limit',
    'webhook-post',
  ],
  'src/core/import/airbyte': ['airbyte'],
  'src/core/import/openapi': ['openapi'],
  'src/core/json-schema': ['validate', 'coerce', 'linear-pattern'],
  'src/core/memory-run': ['memory-run', 'memory-ledger', 'memory-lookups'],
  'src/core/run': [
    'engine',
    'combinations',
    'delivery',
    'list-steps',
    'lazy-destination',
    'repair',
    'run-ledger',
    'run-page',
    'run-store',
  ],
  'src/core/pipeline': [
    'process-page',
    'batch',
    'invalid-limit',
    'quarantine-entry',
    'known-records',
    'seen-id-filter',
    'stored-fields',
  ],
  'src/core/source/decode': ['decode-body', 'decode-json', 'decode-turns'],
  'src/core/source/lookups': ['load-lookups', 'enrich', 'lookup-key', 'lookup-store'],
  'src/core/source/read': [
    'read-pages',
    'budget-left',
    'list-items',
    'page-size',
    'paginate',
    'report-job',
    'select-records',
  ],
  'src/core/spec/check': [
    'check',
    'document-paths',
    'expression-places',
    'expressions',
    'fixed-end',
    'sizes',
    'step-dependencies',
  ],
  'src/core/spec/reference': ['json-schema', 'page'],
  'src/core/spec-tests': ['run-spec-tests', 'play-test', 'open-test-source'],
};

/** A comment on the file, not on its first declaration. */
const header = /^\/\*\*(?:(?!\*\/).)*\*\/\n(?:\n|import)/s;

/** Violations, one sentence each. */
export function checkDoors(root: string, rooms = doors): readonly string[] {
  const imports = [...importsOfService(root)];
  const entered = imports.flatMap(([file, targets]) =>
    targets.flatMap((target) =>
      Object.entries(rooms)
        .filter(([room, open]) => isBehind(room, open, { file, target }))
        .map(([room]) => `${file} imports ${target}, which is no door of ${room}.`),
    ),
  );
  const files = new Set(imports.map(([file]) => file));
  const named = Object.entries(rooms).flatMap(([room, open]) => {
    const missing = open.filter((door) => !files.has(`${room}/${door}.ts`)).map((door) => `${room} has no ${door}.ts.`);
    const front = `${room}/${open[0]}.ts`;
    const isHeaded = !files.has(front) || header.test(readFileSync(join(root, front), 'utf8'));
    return isHeaded ? missing : [...missing, `${front} does not begin with what the room is for.`];
  });
  return [...entered, ...named];
}

const isBehind = (
  room: string,
  open: readonly string[],
  { file, target }: { readonly file: string; readonly target: string },
): boolean =>
  target.startsWith(`${room}/`) &&
  !file.startsWith(`${room}/`) &&
  !open.includes(target.slice(room.length + 1).replace(/\.ts$/, ''));
