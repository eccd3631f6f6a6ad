import * as v from 'valibot';
import { ConnectionRow, ConnectionTest } from './connection.ts';
import { ScheduleRow } from './schedule.ts';
import { Timestamp } from './values.ts';

export const ConnectSessionState = v.pipe(
  v.picklist(['open', 'connected', 'expired', 'canceled']),
  v.description('Only an open one takes anything from the customer.'),
);
export type ConnectSessionState = v.InferOutput<typeof ConnectSessionState>;

export const ConnectStep = v.pipe(
  v.picklist(['values', 'authorize', 'test', 'confirm', 'done']),
  v.description(
    'Where the customer is. values: the form. authorize: consent at the provider. test: the test of the connection. confirm: your server is to confirm who it was. done: the session has ended.',
  ),
);
export type ConnectStep = v.InferOutput<typeof ConnectStep>;

/** Why the last act of a customer failed. */
export const ConnectProblem = v.object({
  code: v.pipe(
    v.string(),
    v.description(
      'As in the error of a request or a run; or `access_denied` and others of the provider, `other_account`, `other_browser`.',
    ),
    v.examples(['auth_failed']),
  ),
  message: v.pipe(v.string(), v.description('For you; the customer gets words of their own.')),
});
export type ConnectProblem = v.InferOutput<typeof ConnectProblem>;

/** Made when the customer is connected. */
export const ConnectSchedule = v.object({
  resourceKey: ScheduleRow.entries.resourceKey,
  cron: ScheduleRow.entries.cron,
  timezone: v.pipe(v.optional(v.string(), 'UTC'), v.description('A zone of the IANA database.')),
});
export type ConnectSchedule = v.InferOutput<typeof ConnectSchedule>;

const id = v.pipe(v.string(), v.examples(['cse_01kaemm0dce7xb1k4c1m1f2p3q']));

/** A session as its org sees it: without token and values. */
export const ConnectSessionRow = v.object({
  id,
  state: ConnectSessionState,
  step: ConnectStep,
  connectionId: v.pipe(
    v.nullable(ConnectionRow.entries.id),
    v.description('Null: nothing was entered yet, or what it made is removed.'),
  ),
  specKey: v.pipe(v.string(), v.examples(['acme-crm'])),
  displayName: ConnectionRow.entries.displayName,
  externalCustomerId: ConnectionRow.entries.externalCustomerId,
  problem: v.pipe(
    v.nullable(ConnectProblem),
    v.description('Why the last act of the customer failed. Null: it did not.'),
  ),
  createdAt: Timestamp,
  openedAt: v.pipe(v.nullable(Timestamp), v.description('When a customer first opened it. Null: not yet.')),
  expiresAt: Timestamp,
  endedAt: v.pipe(v.nullable(Timestamp), v.description('Null: it is open.')),
});
export type ConnectSessionRow = v.InferOutput<typeof ConnectSessionRow>;

/** One value that the customer enters. */
export const ConnectField = v.object({
  key: v.string(),
  label: v.string(),
  description: v.nullable(v.string()),
  example: v.nullable(v.string()),
  helpUrl: v.nullable(v.string()),
  type: v.picklist(['string', 'integer', 'number', 'boolean', 'url', 'string_list', 'json']),
  format: v.nullable(v.string()),
  pattern: v.nullable(v.string()),
  choices: v.pipe(
    v.nullable(v.array(v.unknown())),
    v.description('The only values allowed. Null: every one of the type.'),
  ),
  minLength: v.nullable(v.number()),
  maxLength: v.nullable(v.number()),
  min: v.nullable(v.number()),
  max: v.nullable(v.number()),
  required: v.boolean(),
  secret: v.boolean(),
  value: v.pipe(v.unknown(), v.description('What is stored, or the default; null: neither, or it is secret.')),
  isStored: v.pipe(v.boolean(), v.description('Whether a value is stored; an empty secret then stays as it is.')),
});
export type ConnectField = v.InferOutput<typeof ConnectField>;

const Step = ConnectionTest.entries.steps.item.entries;

/** The part of a test that a customer sees, without the words that may name what the org has fixed. */
export const ConnectTest = v.object({
  step: v.picklist(['source', 'destination']),
  ok: v.boolean(),
  code: Step.code,
  durationMs: Step.durationMs,
  isTheirs: v.pipe(v.boolean(), v.description('Whether the customer can mend it by other values or another consent.')),
});
export type ConnectTest = v.InferOutput<typeof ConnectTest>;

/** A session as its customer sees it: nothing that the org has fixed. */
export const ConnectView = v.object({
  id,
  state: ConnectSessionState,
  step: ConnectStep,
  connector: v.pipe(v.string(), v.description('The name of the spec.'), v.examples(['Acme CRM'])),
  org: v.object({ name: v.string(), color: v.nullable(v.string()), logo: v.nullable(v.string()) }),
  fields: v.pipe(v.array(ConnectField), v.description('Empty: there is nothing to enter.')),
  consents: v.pipe(
    v.object({ given: v.number(), needed: v.number() }),
    v.description('How many consents at the provider there are, and how many are needed.'),
  ),
  needsProof: v.pipe(
    v.boolean(),
    v.description('Whether only the browser that consented can finish, by what came to it behind `#proof=`.'),
  ),
  tested: v.pipe(v.array(ConnectTest.entries.step), v.description('Parts whose test has succeeded.')),
  problem: v.pipe(v.nullable(v.string()), v.description('The code of why the last act failed.')),
  connectionId: v.pipe(v.nullable(v.string()), v.description('Null until the customer is connected.')),
  allowedOrigins: v.pipe(v.array(v.string()), v.description('The pages that may frame it, and get its events.')),
  returns: v.pipe(v.boolean(), v.description('Whether the customer is sent back at the end, and the org confirms.')),
  expiresAt: Timestamp,
});
export type ConnectView = v.InferOutput<typeof ConnectView>;
