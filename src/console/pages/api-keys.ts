import * as v from 'valibot';
import { type ApiKeyLine, findApiKeysPage, findKeysWithLiveDescendants } from '../../../db/queries/orgs/api-keys.ts';
import { idParams } from '../../api/inputs.ts';
import { createApiKey, revokeApiKey } from '../../control/orgs/api-keys.ts';
import type { ApiKeyRow } from '../../core/resources/api-key.ts';
import { button, form, select } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { before, pageFrom, pager } from '../parts/pager.ts';
import { shownOnce } from '../parts/shown-once.ts';
import { badge } from '../parts/status.ts';
import { table } from '../parts/table.ts';
import { ago, time } from '../parts/time.ts';
import { action, page, type Visit } from '../route.ts';

export const apiKeysPage = page({
  path: '/api-keys',
  query: v.object(before('key')),
  handle: async (visit, { db }) => {
    const keys = await findApiKeysPage(db, visit.scope, pageFrom(visit.query));
    const ids = keys.rows.map(({ id }) => id);
    const withLiveDescendants = await findKeysWithLiveDescendants(db, visit.scope, ids);
    return {
      title: 'API keys',
      section: 'api-keys',
      body: html`${heading('API keys', {
        about: 'Whoever has one can do everything in this org, here and by the API.',
        actions: form(visit, { action: '/console/api-keys', class: 'inline' }, [
          select({ name: 'days', label: 'Expires', options: lifetimes(visit.caller) }),
          html`<button class="primary">Create a key</button>`,
        ]),
      })}
        ${table({
          caption: 'API keys',
          rows: keys.rows,
          empty: 'There is no key.',
          columns: [
            {
              head: 'Key',
              cell: ({ id, last4 }) =>
                html`<code>…${last4}</code> ${id === visit.caller.keyId ? html`<span class="muted">this session</span>` : ''}`,
            },
            { head: 'State', narrow: 'lead', cell: stateOf },
            { head: 'Created', narrow: 'out', cell: ({ createdAt }) => time(createdAt) },
            { head: 'Created by', narrow: 'named', cell: creatorOf },
            { head: 'Last used', narrow: 'named', cell: ({ lastUsedAt }) => ago(lastUsedAt) },
            { head: 'Expires', narrow: 'named', cell: ({ expiresAt }) => time(expiresAt) },
            {
              head: 'Actions',
              kind: 'acts',
              cell: (key) => [
                key.revokedAt === null ? revokeButton(visit, key) : '',
                withLiveDescendants.has(key.id) ? revokeAllButton(visit, key) : '',
              ],
            },
          ],
        })}
        ${pager(keys, visit.address)}`,
    };
  },
});

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): Html {
  if (revokedAt !== null) return badge('bad', 'Revoked');
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? badge('idle', 'Expired') : badge('good', 'Active');
}

const creatorOf = ({ createdBy, creatorLast4 }: ApiKeyLine): Html => {
  if (createdBy === null) return html`the operator`;
  return html`<code>${creatorLast4 === null ? createdBy : `…${creatorLast4}`}</code>`;
};

const revokeButton = (visit: Visit, { id }: ApiKeyRow): Html =>
  button(visit, {
    action: `/console/api-keys/${id}/revoke`,
    label: 'Revoke',
    look: 'danger',
    confirm:
      id === visit.caller.keyId
        ? 'Revoke the key of this session? You are signed out at once.'
        : 'Revoke this key? Its next request is refused.',
  });

const revokeAllButton = (visit: Visit, { id }: ApiKeyRow): Html =>
  button(visit, {
    action: `/console/api-keys/${id}/revoke`,
    label: 'Revoke with the keys it made',
    look: 'danger',
    fields: { withDescendants: 'true' },
    confirm: 'Revoke this key, those that it made, those that they made, and so on? Their next requests are refused.',
  });

const dayMs = 86_400_000;

/** In days; empty for the expiry of the session's key. */
const lifetimes = ({ grant }: Visit['caller']): readonly (readonly [string, string])[] => [
  ['', grant.expiresAt === null ? 'never' : 'with the key of this session'],
  ...['1', '7', '30', '90', '365']
    .filter((days) => grant.expiresAt === null || Date.now() + Number(days) * dayMs < Date.parse(grant.expiresAt))
    .map((days) => [days, days === '1' ? 'in a day' : `in ${days} days`] as const),
];

/** Throws validation, conflict. */
export const addApiKey = action({
  path: '/api-keys',
  form: v.object({ days: v.optional(v.pipe(v.string(), v.regex(/^\d{0,4}$/, 'expected a number of days')), '') }),
  handle: async ({ scope, caller, form: { days } }, deps) => {
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString();
    const { key } = await createApiKey(deps, scope, caller.grant, expiresAt);
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

/** Throws not_found. */
export const revoke = action({
  path: '/api-keys/:id/revoke',
  params: idParams('key', 'API key'),
  form: v.object({ withDescendants: v.optional(v.picklist(['true', 'false']), 'false') }),
  handle: async ({ scope, params, form: fields }, deps) => {
    const withDescendants = fields.withDescendants === 'true';
    await revokeApiKey(deps, scope, { ...params, withDescendants });
    return { to: '/console/api-keys', notice: withDescendants ? 'keys-revoked' : 'key-revoked' };
  },
});
