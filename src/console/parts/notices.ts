import { counted } from './numbers.ts';

/** The address names a notice and its number, so that no link can show other text. */
export function noticeAt(address: string): string | null {
  const query = new URL(address, 'http://console').searchParams;
  const name = query.get('notice') ?? '';
  // `constructor` and the like are in every object.
  const notice = Object.hasOwn(notices, name) ? notices[name] : undefined;
  const [count] = /^\d{1,9}$/.exec(query.get('count') ?? '') ?? [];
  if (typeof notice === 'function') return count === undefined ? null : notice(Number(count));
  return notice ?? null;
}

/** The address without its notice. */
export function withoutNotice(url: URL): URL {
  for (const name of ['notice', 'count']) url.searchParams.delete(name);
  return url;
}

const notices: Readonly<Record<string, string | ((count: number) => string)>> = {
  'run-queued': 'The run is queued.',
  'run-canceled': 'The run is being canceled.',
  'connection-created': 'The connection is created. Test and activate it: then it can be synced.',
  'connection-changed': 'The settings are saved.',
  activated: 'The connection is active.',
  'tested-and-activated': 'The test succeeded: the connection is active.',
  paused: 'The connection is paused.',
  'schedule-created': 'The schedule is created.',
  'schedule-changed': 'The schedule is changed.',
  'schedule-deleted': 'The schedule is deleted.',
  requeued: 'The next run of the resource begins with it.',
  'requeued-many': (count) => `${counted(count, 'record is', 'records are')} requeued: the next runs begin with them.`,
  'synced-many': (count) => `Runs of ${counted(count, 'connection')} are queued.`,
  'paused-many': (count) => `${counted(count, 'connection is', 'connections are')} paused.`,
  'activated-many': (count) => `${counted(count, 'connection is', 'connections are')} active.`,
  'canceled-many': (count) => `${counted(count, 'run is', 'runs are')} being canceled.`,
  'replayed-many': (count) => `${counted(count, 'run is', 'runs are')} queued again.`,
  'redelivered-many': (count) => `${counted(count, 'attempt is', 'attempts are')} on the way.`,
  redelivered: 'One more attempt is on its way.',
  'test-sent': 'The test event is on its way.',
  'endpoint-enabled': 'The endpoint is enabled.',
  'endpoint-disabled': 'The endpoint is disabled. Events are kept as skipped until you recover them.',
  'endpoint-deleted': 'The endpoint is deleted.',
  'recovery-started': 'The recovery has begun.',
  'draft-saved': 'The draft is saved.',
  'draft-created': 'The draft is created.',
  'draft-from-catalogue': 'The draft is created. Publish it, then create a connection.',
  'draft-deleted': 'The draft is deleted.',
  published: 'The version is published: connections can use it.',
  deprecated: 'The version takes no new connections.',
  'hook-enabled': 'The hook is enabled.',
  'hook-disabled': 'The hook is disabled: its address responds as if it did not exist.',
  'hook-deleted': 'The hook is deleted.',
  'key-revoked': 'The key is revoked: its next request is refused.',
  'keys-revoked': 'The key and those that it made are revoked: their next requests are refused.',
};
