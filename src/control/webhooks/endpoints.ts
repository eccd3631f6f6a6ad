import type { Db } from '../../../db/client.ts';
import {
  changeEndpoint,
  type EndpointChange,
  type EndpointSettings,
  findEndpoint,
  findUnknownIds,
  insertEndpoint,
  lockEndpoint,
  lockEndpointCount,
  markEndpointDeleted,
} from '../../../db/queries/webhooks/endpoints.ts';
import { deleteSigningSecrets } from '../../../db/queries/webhooks/signing-secrets.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { conflict, found, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import type { SignatureScheme, WebhookEndpointRow } from '../../core/resources/webhook-endpoint.ts';
import type { Deps } from '../../deps.ts';
import { type WakeDeps, wakeEndpoints } from '../../dispatch/wake-endpoints.ts';
import { requireTurn } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';
import { endpointUrlIssue } from './endpoint-url.ts';
import { giveKeyPair, giveSecrets, refuseBadSecret } from './secrets.ts';
import { askForTest } from './test-endpoint.ts';

type EndpointDeps = WakeDeps & Pick<Deps, 'secretBox' | 'egress'>;

const endpointsMax = 10;

export interface NewEndpoint extends WebhookEndpointRow {
  /** Shown once, and only if it was generated here. */
  readonly secret?: string;
}

interface EndpointRequest extends EndpointSettings {
  /** The signing secret, generated if `null`. */
  readonly secret: string | null;
  readonly verifyOnCreate: boolean;
}

/**
 * Throws validation (url, secret, ids that do not belong to the org), conflict (the org has ten), rate_limited (too many
 * tests).
 */
export async function createEndpoint(
  deps: EndpointDeps & WriteDeps,
  scope: OrgScope,
  { secret, verifyOnCreate, ...settings }: EndpointRequest,
): Promise<NewEndpoint> {
  refuseBadSecret(secret);
  await refuseBadSettings(deps, scope, settings);
  const endpoint = await write(deps, async (tx) => {
    if ((await lockEndpointCount(tx, scope)) >= endpointsMax) throw tooManyEndpoints();
    const id = await insertEndpoint(tx, scope, settings);
    const made = await giveSecrets(deps, tx, scope, { endpointId: id, schemes: settings.signatureSchemes, secret });
    const row = found(await findEndpoint(tx, scope, id), 'Webhook endpoint');
    if (verifyOnCreate) {
      await requireTurn(tx, scope, 'requestedDeliveries');
      await askForTest(tx, scope, { endpoint: row, eventType: 'webhook.test' });
    }
    return { ...row, ...(made === null ? {} : { secret: made }) };
  });
  void wakeEndpoints(deps, scope);
  return endpoint;
}

const tooManyEndpoints = () =>
  conflict(`An org has at most ${endpointsMax} webhook endpoints: delete one, or let one receive more event types.`);

/**
 * `enabled: true` clears its failures, even if it is on, and sends its waiting messages. Throws not_found, validation (url,
 * ids that do not belong to the org).
 */
export async function updateEndpoint(
  deps: EndpointDeps,
  scope: OrgScope,
  { id, ...settings }: EndpointChange & { readonly id: string },
): Promise<WebhookEndpointRow> {
  found(await findEndpoint(deps.db, scope, id), 'Webhook endpoint');
  await refuseBadSettings(deps, scope, settings);
  const endpoint = await deps.db.transaction().execute(async (tx) => {
    const before = found(await lockEndpoint(tx, scope, id), 'Webhook endpoint');
    if (settings.signatureSchemes) await followSchemes(deps, tx, scope, { before, schemes: settings.signatureSchemes });
    await changeEndpoint(tx, scope, { id, ...settings });
    return found(await findEndpoint(tx, scope, id), 'Webhook endpoint');
  });
  void wakeEndpoints(deps, scope);
  return endpoint;
}

/** `v1` always signs. A key pair exists while `v1a` signs, too. */
async function followSchemes(
  deps: EndpointDeps,
  tx: Db,
  scope: OrgScope,
  { before, schemes }: { readonly before: WebhookEndpointRow; readonly schemes: readonly SignatureScheme[] },
): Promise<void> {
  const [had, has] = [before.signatureSchemes.includes('v1a'), schemes.includes('v1a')];
  if (has && !had) await giveKeyPair(deps, tx, scope, before.id);
  if (had && !has) await deleteSigningSecrets(tx, scope, { endpointId: before.id, scheme: 'v1a' });
}

async function refuseBadSettings(
  deps: Pick<Deps, 'db' | 'egress'>,
  scope: OrgScope,
  { url, connectionIds, workspaceIds }: Pick<EndpointChange, 'url' | 'connectionIds' | 'workspaceIds'>,
): Promise<void> {
  const issues = [
    ...(await urlIssues(deps, url)),
    ...(await unknownIds(deps.db, scope, { table: 'connections', path: 'connectionIds', ids: connectionIds ?? [] })),
    ...(await unknownIds(deps.db, scope, { table: 'workspaces', path: 'workspaceIds', ids: workspaceIds ?? [] })),
  ];
  if (issues.length > 0) throw invalid('The webhook endpoint is not valid.', issues);
}

async function urlIssues({ egress }: Pick<Deps, 'egress'>, url: string | undefined): Promise<readonly Issue[]> {
  const message = url === undefined ? null : await endpointUrlIssue(egress, url);
  return message === null ? [] : [schemaIssue('url', message)];
}

async function unknownIds(
  db: Db,
  scope: OrgScope,
  {
    table,
    path,
    ids,
  }: { readonly table: 'connections' | 'workspaces'; readonly path: string; readonly ids: readonly string[] },
): Promise<readonly Issue[]> {
  if (ids.length === 0) return [];
  const unknown = await findUnknownIds(db, scope, { table, ids });
  const message = `is not one of the ${table} of the org`;
  return ids.flatMap((id, index) => (unknown.has(id) ? [schemaIssue(`${path}.${index}`, message)] : []));
}

/**
 * At once it reads as absent, its secrets are deleted and its waiting messages are canceled; the log of its deliveries stays.
 * Throws not_found.
 */
export async function deleteEndpoint({ db }: Pick<Deps, 'db'>, scope: OrgScope, id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    found(await lockEndpoint(tx, scope, id), 'Webhook endpoint');
    await markEndpointDeleted(tx, scope, id);
    await deleteSigningSecrets(tx, scope, { endpointId: id, scheme: null });
  });
}
