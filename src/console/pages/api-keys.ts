import { listApiKeys } from '../../../db/queries/orgs/api-keys.ts';
import { idParams } from '../../api/inputs.ts';
import { createApiKey, revokeApiKey } from '../../control/orgs/api-keys.ts';
import type { ApiKeyRow } from '../../core/resources/api-key.ts';
import { button } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { shownOnce } from '../parts/shown-once.ts';
import { badge } from '../parts/status.ts';
import { table } from '../parts/table.ts';
import { ago, time } from '../parts/time.ts';
import { action, page } from '../route.ts';

/** The keys of the org, revoked ones too. */
export const apiKeysPage = page({
  path: '/api-keys',
  handle: async (visit, { db }) => {
    const keys = await listApiKeys(db, visit.scope);
    return {
      title: 'API keys',
      section: 'api-keys',
      body: html`${heading('API keys', {
        about: 'Whoever has one can do everything in this org, here and by the API.',
        actions: button(visit, { action: '/console/api-keys', label: 'Create a key', look: 'primary' }),
      })}
        ${table({
          caption: 'API keys',
          rows: keys,
          empty: 'There is no key.',
          columns: [
            {
              head: 'Key',
              cell: ({ id, last4 }) =>
                html`<code>…${last4}</code> ${id === visit.caller.keyId ? html`<span class="muted">this session</span>` : ''}`,
            },
            { head: 'State', cell: stateOf },
            { head: 'Created', cell: ({ createdAt }) => time(createdAt) },
            { head: 'Last used', cell: ({ lastUsedAt }) => ago(lastUsedAt) },
            { head: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
            {
              head: 'Actions',
              kind: 'acts',
              cell: ({ id, revokedAt }) =>
                revokedAt === null
                  ? button(visit, {
                      action: `/console/api-keys/${id}/revoke`,
                      label: 'Revoke',
                      look: 'danger',
                      confirm:
                        id === visit.caller.keyId
                          ? 'Revoke the key of this session? You are signed out at once.'
                          : 'Revoke this key? Its next request is refused.',
                    })
                  : null,
            },
          ],
        })}`,
    };
  },
});

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): Html {
  if (revokedAt !== null) return badge('bad', 'Revoked');
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? badge('idle', 'Expired') : badge('good', 'Active');
}

/** A key that expires with the one that signed in. */
export const addApiKey = action({
  path: '/api-keys',
  handle: async ({ scope, caller }, deps) => {
    const { key } = await createApiKey(deps, scope, caller.grant);
    return {
      title: 'The key is created',
      section: 'api-keys',
      trail: [['API keys', '/console/api-keys']],
      body: shownOnce({
        title: 'The key is created',
        values: [['API key', key]],
        next: 'Send it as “Authorization: Bearer ck_…”.',
        back: '/console/api-keys',
      }),
    };
  },
});

/** Revokes an API key: it is refused from the next request on. Throws not_found. */
export const revoke = action({
  path: '/api-keys/:id/revoke',
  params: idParams('key', 'API key'),
  handle: async ({ scope, params }, deps) => {
    await revokeApiKey(deps, scope, params.id);
    return { to: '/console/api-keys', notice: 'key-revoked' };
  },
});
