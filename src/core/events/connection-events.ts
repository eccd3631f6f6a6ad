import * as v from 'valibot';
import { ConnectionRow, ConnectionStatus } from '../resources/connection.ts';
import type { DomainEvent } from './envelope.ts';
import { aboutConnection, EventConnection } from './event-connection.ts';
import type { EventDeclarations } from './event-declaration.ts';
import { exampleConnection } from './examples.ts';

const Failure = v.object({ code: v.pipe(v.string(), v.examples(['auth_failed'])), message: v.string() });

const Transition = v.object({
  connection: EventConnection,
  previousStatus: v.pipe(v.nullable(ConnectionStatus), v.description('Null: it is new.')),
  reason: v.pipe(
    v.picklist(['api', 'oauth', 'test', 'connect']),
    v.description(
      'api: a call of the API. oauth: its customer authorized it. test: it was in error, and a test by the service succeeded. connect: its customer finished a connect session.',
    ),
  ),
});
const Activation = v.object({ ...Transition.entries, accounts: ConnectionRow.entries.accounts });
const ConnectionError = v.object({ connection: EventConnection, previousStatus: ConnectionStatus, error: Failure });
const ConnectionRecovered = v.object({
  connection: EventConnection,
  previousStatus: v.literal('error'),
  failedSince: v.pipe(v.nullable(v.string()), v.description('ISO 8601, UTC; null: not known.')),
});
const ReauthRequired = v.object({
  connection: EventConnection,
  provider: v.pipe(v.string(), v.description('The name of the system in its spec.'), v.examples(['Acme CRM'])),
  error: Failure,
});
const SpecUpgraded = v.object({
  connection: EventConnection,
  from: v.pipe(v.string(), v.examples(['1.3.0'])),
  to: v.pipe(v.string(), v.examples(['1.4.0'])),
});

type Transition = v.InferOutput<typeof Transition>;
type Activation = v.InferOutput<typeof Activation>;

interface DeduplicationId {
  readonly connection: EventConnection;
  /** Distinguishes occurrences; equal for the same one. */
  readonly deduplicationId: string;
}

const toConnection = ({ connection, deduplicationId }: DeduplicationId) => ({
  ...aboutConnection(connection),
  subject: `${connection.id} ${deduplicationId}`,
});

export const connectionCreated = (connection: EventConnection): DomainEvent => ({
  ...aboutConnection(connection),
  type: 'connection.created',
  subject: connection.id,
  data: { connection, previousStatus: null, reason: 'api' } satisfies Transition,
});

export const connectionActivated = ({
  connection,
  previousStatus,
  reason,
  accounts,
  deduplicationId,
}: DeduplicationId & Pick<Activation, 'previousStatus' | 'reason' | 'accounts'>): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.activated',
  data: { connection, previousStatus, reason, accounts } satisfies Activation,
});

export const connectionPaused = ({
  connection,
  previousStatus,
  deduplicationId,
}: DeduplicationId & Pick<Transition, 'previousStatus'>): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.paused',
  data: { connection, previousStatus, reason: 'api' } satisfies Transition,
});

/** A failure that only the customer can fix has put a connection out of service. */
export const connectionFailed = ({
  connection,
  error,
  deduplicationId,
}: DeduplicationId & { readonly error: v.InferOutput<typeof Failure> }): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.error',
  data: { connection, previousStatus: 'active', error } satisfies v.InferOutput<typeof ConnectionError>,
});

/** `failedSince` is ISO 8601; `null` if not known. */
export const connectionRecovered = ({
  connection,
  failedSince,
  deduplicationId,
}: DeduplicationId & { readonly failedSince: string | null }): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.recovered',
  data: { connection, previousStatus: 'error', failedSince } satisfies v.InferOutput<typeof ConnectionRecovered>,
});

export const connectionReauthRequired = ({
  connection,
  provider,
  error,
  deduplicationId,
}: DeduplicationId & { readonly provider: string; readonly error: v.InferOutput<typeof Failure> }): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.reauth_required',
  data: { connection, provider, error } satisfies v.InferOutput<typeof ReauthRequired>,
});

export const connectionSpecUpgraded = ({
  connection,
  from,
  to,
  deduplicationId,
}: DeduplicationId & { readonly from: string; readonly to: string }): DomainEvent => ({
  ...toConnection({ connection, deduplicationId }),
  type: 'connection.spec_upgraded',
  data: { connection, from, to } satisfies v.InferOutput<typeof SpecUpgraded>,
});

const once = { connection: exampleConnection, deduplicationId: 'example' };
const refused = {
  code: 'auth_failed',
  message: "The API responded with 401: check the connection's credentials and authorize it again.",
};
const broken = { ...once, connection: { ...exampleConnection, status: 'error' } } as const;

export const connectionEvents: EventDeclarations<
  | 'connection.created'
  | 'connection.activated'
  | 'connection.paused'
  | 'connection.error'
  | 'connection.recovered'
  | 'connection.reauth_required'
  | 'connection.spec_upgraded'
> = {
  'connection.created': {
    summary: 'A connection was created; it is pending.',
    data: Transition,
    example: connectionCreated({ ...exampleConnection, status: 'pending' }).data,
  },
  'connection.activated': {
    summary: 'A connection has become active.',
    data: Activation,
    example: connectionActivated({
      ...once,
      previousStatus: 'pending',
      reason: 'oauth',
      accounts: [{ resource: null, values: { realm: '9341453' } }],
    }).data,
  },
  'connection.paused': {
    summary: 'A connection was paused: its schedules do not fire and its runs are canceled.',
    data: Transition,
    example: connectionPaused({
      ...once,
      connection: { ...exampleConnection, status: 'paused' },
      previousStatus: 'active',
    }).data,
  },
  'connection.error': {
    summary:
      'Credentials or destination were rejected: the connection is in error until a test of it succeeds or somebody activates it.',
    data: ConnectionError,
    example: connectionFailed({ ...broken, error: refused }).data,
  },
  'connection.recovered': {
    summary: 'A connection that was in error is active again.',
    data: ConnectionRecovered,
    example: connectionRecovered({ ...once, failedSince: '2026-03-01T08:30:12.470Z' }).data,
  },
  'connection.reauth_required': {
    summary: 'The customer has to authorize the connection at their provider again.',
    data: ReauthRequired,
    example: connectionReauthRequired({ ...broken, provider: 'Acme CRM', error: refused }).data,
  },
  'connection.spec_upgraded': {
    summary: 'A connection was pinned to another version of its spec.',
    data: SpecUpgraded,
    example: connectionSpecUpgraded({ ...once, from: '1.3.0', to: '1.4.0' }).data,
  },
};
