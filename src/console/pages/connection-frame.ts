import { findPinnedConnection, type PinnedConnection } from '../../../db/queries/connections/connections.ts';
import { findResourceFacts } from '../../../db/queries/connections/freshness.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { idParams } from '../../api/inputs.ts';
import { found } from '../../core/errors.ts';
import type { ConnectionRow } from '../../core/resources/connection.ts';
import type { Freshness } from '../../core/resources/freshness.ts';
import { freshnessOf } from '../../core/schedule/freshness.ts';
import { resourceKeysOf } from '../../core/spec/connection/resource-keys.ts';
import { idText } from '../parts/code.ts';
import { button } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { connectionBadge, healthBadge } from '../parts/status.ts';
import { tabs } from '../parts/tabs.ts';
import type { ConsoleDeps, View, Visit } from '../route.ts';
import { testForm } from './connection-forms.ts';
import { specKeyIn } from './specs/spec-names.ts';

export const ConnectionParams = idParams('con', 'Connection');

/** By the ends of their addresses. */
const tabNames = {
  '': 'Overview',
  '/runs': 'Runs',
  '/quarantine': 'Quarantine',
  '/hooks': 'Hooks and events',
  '/settings': 'Settings',
} as const;
type ConnectionTab = keyof typeof tabNames;

/** A connection with what the head of its pages shows. */
export interface OpenConnection {
  readonly connection: PinnedConnection;
  readonly resourceKeys: readonly string[];
  readonly freshness: Freshness;
}

/** Throws not_found. */
export async function openConnection(
  { db }: Pick<ConsoleDeps, 'db'>,
  scope: OrgScope,
  id: string,
): Promise<OpenConnection> {
  const connection = found(await findPinnedConnection(db, scope, id), 'Connection');
  const resourceKeys = resourceKeysOf(connection.specJson, connection.specOverridesJson);
  const facts = await findResourceFacts(db, scope, { connectionId: id, resourceKeys });
  return { connection, resourceKeys, freshness: freshnessOf(facts, Date.now()) };
}

interface Tab extends Pick<View, 'refreshSeconds'> {
  readonly tab: ConnectionTab;
  readonly body: Content;
}

/** A page of a connection below its head and tabs. */
export function connectionView(
  visit: Visit,
  { connection, freshness }: OpenConnection,
  { tab, body, ...refresh }: Tab,
): View {
  const { id, displayName, status } = connection;
  const address = `/console/connections/${id}`;
  const all = Object.entries(tabNames).map(([end, label]) => ({ label, href: address + end }));
  return {
    title: tab === '' ? displayName : `${tabNames[tab]} of ${displayName}`,
    section: 'connections',
    trail: [['Connections', '/console/connections']],
    ...refresh,
    body: html`${heading(displayName, {
      about: idText(id),
      state: live('state', [connectionBadge(status), healthBadge(freshness.health)]),
      actions: [statusButton(visit, connection), testForm(visit, id)],
    })}
      ${tabs(`Pages of ${displayName}`, all, address + tab)}
      ${body}`,
  };
}

/** One that is pending or in error is activated by its advice, after a test. */
const statusButton = (visit: Visit, { id, status }: ConnectionRow): Html | null => {
  if (status === 'error' || status === 'pending') return null;
  return status === 'active'
    ? button(visit, {
        action: `/console/connections/${id}/pause`,
        label: 'Pause',
        confirm: 'Pause this connection? Its queued and running runs are canceled.',
      })
    : button(visit, { action: `/console/connections/${id}/activate`, label: 'Activate', look: 'primary' });
};

/** The version of the spec that a connection is pinned to. */
export function specLink({
  specJson,
  pinnedSpecVersion: version,
}: Pick<PinnedConnection, 'specJson' | 'pinnedSpecVersion'>): Html {
  const key = specKeyIn(specJson);
  return html`<a href="/console/specs/${key}/${version}">${key} ${version}</a>`;
}
