import * as v from 'valibot';
import { findConnectionNames } from '../../../db/queries/connections/connections.ts';
import { findHookRequestsPage } from '../../../db/queries/hooks/hook-requests.ts';
import { findHook, findHooksPage } from '../../../db/queries/hooks/hooks.ts';
import { boundedList } from '../../api/bounded-list.ts';
import { idParams } from '../../api/inputs.ts';
import { createHook, deleteHook, rotateHook, toggleHook } from '../../control/hooks/hooks.ts';
import { found } from '../../core/errors.ts';
import { type HookRequestRow, type HookRow, hookDefaults } from '../../core/resources/hook.ts';
import { button } from '../parts/form.ts';
import { heading, live } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { duration } from '../parts/numbers.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { shownOnce } from '../parts/shown-once.ts';
import { badge, hookRequestBadge } from '../parts/status.ts';
import { facts, nothing, section, table } from '../parts/table.ts';
import { ago, time } from '../parts/time.ts';
import { action, page, type View, type Visit } from '../route.ts';
import { hookTable, verificationWords } from './hook-table.ts';

const Params = idParams('hook', 'Hook');

export const hooksPage = page({
  path: '/hooks',
  query: v.object(before('hook')),
  handle: async ({ scope, query, address }, { db }) => {
    const hooks = await findHooksPage(db, scope, pageFrom(query));
    const names = await findConnectionNames(
      db,
      scope,
      hooks.rows.map(({ connectionId }) => connectionId),
    );
    return {
      title: 'Hooks',
      section: 'hooks',
      body: html`${heading('Hooks', { about: 'Addresses to which a customer’s API posts when something is new.' })}
        ${hookTable(hooks.rows, {
          nameOf: (id) => names.get(id) ?? 'a deleted connection',
          empty: nothing('No hook yet.', html`Add one on the page of a <a href="/console/connections">connection</a>.`),
        })}
        ${pager(hooks, address)}`,
    };
  },
});

export const hookPage = page({
  path: '/hooks/:id',
  params: Params,
  query: v.object(before('hreq')),
  handle: async (visit, { db }) => {
    const { scope, params, query } = visit;
    const hook = found(await findHook(db, scope, params.id), 'Hook');
    const { id, enabled, connectionId } = hook;
    const requests = await findHookRequestsPage(db, scope, id, pageFrom(query));
    const name = (await findConnectionNames(db, scope, [connectionId])).get(connectionId) ?? 'a deleted connection';
    return {
      title: `Hook of ${name}`,
      section: 'hooks',
      trail: [
        ['Hooks', '/console/hooks'],
        [name, `/console/connections/${connectionId}`],
      ],
      refreshSeconds: 5,
      body: html`${heading(`Hook of ${name}`, {
        state: enabled ? badge('good', 'Enabled') : badge('idle', 'Disabled'),
        actions: hookActions(visit, hook),
      })}
      ${facts([
        ['Syncs', hook.resourceKeys.join(', ')],
        ['Verified by', verificationWords(hook)],
        [
          'Waits for quiet',
          `${duration(hook.debounceSeconds * 1000)}, at most ${duration(hook.maxWaitSeconds * 1000)}`,
        ],
        ['Created', time(hook.createdAt)],
      ])}
      ${section('Requests of the last 7 days', [live('requests', requestTable(requests.rows)), pager(requests, visit.address)])}`,
    };
  },
});

const hookActions = (visit: Visit, { id, enabled, verification }: HookRow): readonly (Html | null)[] => [
  button(visit, {
    action: `/console/hooks/${id}/toggle`,
    label: enabled ? 'Disable' : 'Enable',
    fields: { enabled: String(!enabled) },
  }),
  button(visit, {
    action: `/console/hooks/${id}/rotate`,
    label: 'Replace the address',
    fields: { replace: 'url' },
    confirm: 'Replace the address? The old one is rejected at once.',
  }),
  verification.kind === 'none'
    ? null
    : button(visit, {
        action: `/console/hooks/${id}/rotate`,
        label: 'Replace the secret',
        fields: { replace: 'secret' },
        confirm: 'Replace the secret? The old one is rejected at once.',
      }),
  button(visit, {
    action: `/console/hooks/${id}/delete`,
    label: 'Delete',
    look: 'danger',
    confirm: 'Delete this hook? Runs that it has started continue.',
  }),
];

const requestTable = (rows: readonly HookRequestRow[]): Html =>
  table({
    caption: 'Requests',
    rows,
    empty: nothing('Nothing was posted to it yet.', 'Register its address with the API of the customer.'),
    columns: [
      { head: 'When', cell: ({ receivedAt }) => ago(receivedAt) },
      { head: 'Result', narrow: 'lead', cell: ({ status }) => hookRequestBadge(status) },
      { head: 'Reason', kind: 'wide', cell: ({ reason }) => reason ?? '–' },
      {
        head: 'Runs',
        cell: ({ runs }) =>
          runs.length === 0
            ? '–'
            : runs.map(({ resourceKey, runId }) =>
                runId === null ? html`${resourceKey} ` : html`<a href="/console/runs/${runId}">${resourceKey}</a> `,
              ),
      },
    ],
  });

/** Shows address and secret this once. Throws not_found, validation, conflict. */
export const addHook = action({
  path: '/connections/:id/hooks',
  params: idParams('con', 'Connection'),
  form: v.object({
    resourceKeys: v.pipe(
      v.optional(boundedList(v.pipe(v.string(), v.minLength(1)), 50), []),
      v.minLength(1, 'select at least one resource'),
    ),
    verification: v.picklist(['standard_webhooks', 'github', 'stripe', 'shopify', 'slack', 'none']),
  }),
  handle: async ({ scope, params, form: { resourceKeys, verification: kind } }, deps) => {
    const hook = await createHook(deps, scope, {
      connectionId: params.id,
      resourceKeys,
      verification: { kind },
      ...hookDefaults,
      secret: undefined,
    });
    return secretsOf('The hook is created', hook);
  },
});

/** Throws not_found. */
export const switchHook = action({
  path: '/hooks/:id/toggle',
  params: Params,
  form: v.object({ enabled: v.picklist(['true', 'false']) }),
  handle: async ({ scope, params, form: { enabled } }, deps) => {
    await toggleHook(deps, scope, { id: params.id, enabled: enabled === 'true' });
    const notice = enabled === 'true' ? 'hook-enabled' : 'hook-disabled';
    return { to: `/console/hooks/${params.id}`, notice };
  },
});

/** Shows the new address or secret this once. Throws not_found, validation. */
export const rotate = action({
  path: '/hooks/:id/rotate',
  params: Params,
  form: v.object({ replace: v.picklist(['url', 'secret']) }),
  handle: async ({ scope, params, form: { replace } }, deps) => {
    const hook = await rotateHook(deps, scope, { id: params.id, replace: [replace], secret: undefined });
    return secretsOf(replace === 'url' ? 'The address is replaced' : 'The secret is replaced', hook);
  },
});

/** Runs that it has requested continue. Throws not_found. */
export const removeHook = action({
  path: '/hooks/:id/delete',
  params: Params,
  handle: async ({ scope, params }, deps) => {
    await deleteHook(deps, scope, params.id);
    return { to: '/console/hooks', notice: 'hook-deleted' };
  },
});

interface Shown {
  readonly id: string;
  readonly url: string | null;
  readonly secret: string | null;
}

const secretsOf = (title: string, { id, url, secret }: Shown): View => ({
  title,
  section: 'hooks',
  trail: [['Hooks', '/console/hooks']],
  body: shownOnce({
    title,
    values: [
      ...(url === null ? [] : [['Address', url] as const]),
      ...(secret === null ? [] : [['Secret', secret] as const]),
    ],
    next: 'Register it with the API of the customer.',
    back: `/console/hooks/${id}`,
  }),
});
