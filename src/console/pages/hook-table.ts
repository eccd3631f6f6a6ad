import type { HookRow } from '../../core/resources/hook.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { badge } from '../parts/status.ts';
import { table } from '../parts/table.ts';
import { ago } from '../parts/time.ts';

const verifications: Readonly<Record<HookRow['verification']['kind'], string>> = {
  standard_webhooks: 'Standard Webhooks',
  github: 'GitHub',
  stripe: 'Stripe',
  shopify: 'Shopify',
  slack: 'Slack',
  hmac: 'HMAC',
  header_secret: 'a secret in a header',
  none: 'nothing',
};

export const verificationWords = ({ verification }: Pick<HookRow, 'verification'>): string =>
  verifications[verification.kind];

interface HookTableOptions {
  /** Absent if all hooks are of one connection. */
  readonly nameOf?: (connectionId: string) => string;
  readonly empty?: Content;
}

export const hookTable = (
  hooks: readonly HookRow[],
  { nameOf, empty = 'This connection has no hook.' }: HookTableOptions = {},
): Html =>
  table({
    caption: 'Hooks',
    rows: hooks,
    empty,
    columns: [
      { head: 'Hook', cell: ({ id }) => html`<a href="/console/hooks/${id}"><code>…${id.slice(-8)}</code></a>` },
      ...(nameOf
        ? [
            {
              head: 'Connection',
              kind: 'wide' as const,
              narrow: 'lead' as const,
              cell: ({ connectionId }: HookRow) =>
                html`<a href="/console/connections/${connectionId}">${nameOf(connectionId)}</a>`,
            },
          ]
        : []),
      { head: 'Syncs', cell: ({ resourceKeys }) => resourceKeys.join(', ') },
      { head: 'Verified by', cell: verificationWords },
      {
        head: 'State',
        narrow: 'lead',
        cell: ({ enabled }) => (enabled ? badge('good', 'Enabled') : badge('idle', 'Disabled')),
      },
      { head: 'Created', narrow: 'named', cell: ({ createdAt }) => ago(createdAt) },
    ],
  });
