import { randomBytes } from 'node:crypto';
import { lockConnection } from '../../../db/queries/connections/connections.ts';
import {
  findHook,
  insertHook,
  markHookDeleted,
  replaceHookSecrets,
  setHookEnabled,
} from '../../../db/queries/hooks/hooks.ts';
import { lockOrg } from '../../../db/queries/orgs/org-limits.ts';
import { findPinnedSpec } from '../../../db/queries/specs.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { hashHookToken, makeHookToken } from '../../core/crypto/hook-token.ts';
import type { SealedSecret } from '../../core/crypto/secret-box.ts';
import { makeSigningSecret, signingSecretIssue } from '../../core/crypto/signing-secret.ts';
import { found, type Issue, invalid, schemaIssue } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { HookRow } from '../../core/resources/hook.ts';
import type { Verification } from '../../core/resources/verification-schema.ts';
import { runTerms } from '../../core/spec/connection/run-terms.ts';
import type { Deps } from '../../deps.ts';
import { requireRoom } from '../orgs/org-limits.ts';
import { type WriteDeps, write } from '../orgs/write.ts';

type HookDeps = WriteDeps & Pick<Deps, 'secretBox' | 'publicUrl' | 'defaultDestination'>;

const secretKind = 'upstream-webhook';

export interface NewHook extends HookRow {
  /** The upstream posts here: anyone who has it can request runs. */
  readonly url: string;
  /** `null` if the caller gave it, or none is needed. */
  readonly secret: string | null;
}

interface HookRequest
  extends Pick<
    HookRow,
    'connectionId' | 'resourceKeys' | 'verification' | 'dedupe' | 'debounceSeconds' | 'maxWaitSeconds'
  > {
  /** Generated if undefined. */
  readonly secret: string | undefined;
}

/**
 * Throws validation (an unknown resource, a secret of another form), not_found (connection), conflict (the effective spec is
 * invalid, or has no destination).
 */
export async function createHook(deps: HookDeps, scope: OrgScope, request: HookRequest): Promise<NewHook> {
  const { secret: given, ...wanted } = request;
  const { verification } = wanted;
  const issues = [...timeIssues(wanted), ...secretIssues(verification, given, 'verification.secret')];
  if (issues.length > 0) throw invalid('The hook is not valid.', issues);
  const id = newId('hook');
  const token = makeHookToken();
  const { secret, sealed } = secretFor(deps, scope, { id, verification, given });
  const hook = await write(deps, async (tx) => {
    await lockOrg(tx, scope);
    const connection = found(await lockConnection(tx, scope, wanted.connectionId), 'Connection');
    const pinned = found(await findPinnedSpec(tx, scope, connection.id), 'Pinned spec version');
    const { defaultDestination } = deps;
    for (const [index, resourceKey] of wanted.resourceKeys.entries()) {
      const path = `resourceKeys.${index}` as const;
      runTerms({ ...connection, specJson: pinned.specJson, resourceKey, defaultDestination, path });
    }
    await requireRoom(tx, scope, 'hooksPerConnection', { connectionId: connection.id });
    const resourceKeys = [...new Set(wanted.resourceKeys)];
    return insertHook(tx, scope, { ...wanted, id, resourceKeys, tokenHash: hashHookToken(token), secret: sealed });
  });
  return { ...hook, url: urlOf(deps, token), secret };
}

const urlOf = ({ publicUrl }: Pick<HookDeps, 'publicUrl'>, token: string): string => `${publicUrl}/api/hooks/${token}`;

function timeIssues({
  verification,
  debounceSeconds,
  maxWaitSeconds,
}: Pick<HookRow, 'verification' | 'debounceSeconds' | 'maxWaitSeconds'>): readonly Issue[] {
  const issues: Issue[] = [];
  if (verification.kind === 'hmac' && verification.content === 'timestamp.body' && !verification.timestampHeader) {
    const message = 'is required with `timestamp.body`: the header that contains the time';
    issues.push(schemaIssue('verification.timestampHeader', message));
  }
  if (verification.kind === 'hmac' && verification.content === 'body' && verification.timestampHeader) {
    const message =
      'needs the content `timestamp.body`: anyone can change a time that is not signed. Remove it, or sign the time';
    issues.push(schemaIssue('verification.timestampHeader', message));
  }
  if (maxWaitSeconds < debounceSeconds) {
    issues.push(schemaIssue('maxWaitSeconds', 'expected at least debounceSeconds'));
  }
  return issues;
}

function secretIssues({ kind }: Verification, secret: string | undefined, path: string): readonly Issue[] {
  if (secret === undefined) return [];
  if (kind === 'none') return [schemaIssue(path, 'this kind of verification uses no secret: remove it')];
  const issue = kind === 'standard_webhooks' ? signingSecretIssue(secret) : null;
  return issue === null ? [] : [schemaIssue(path, issue)];
}

function secretFor(
  { secretBox }: Pick<HookDeps, 'secretBox'>,
  { orgId }: OrgScope,
  {
    id,
    verification,
    given,
  }: { readonly id: string; readonly verification: Verification; readonly given?: string | undefined },
): { readonly secret: string | null; readonly sealed: SealedSecret | null } {
  if (verification.kind === 'none') return { secret: null, sealed: null };
  const made = verification.kind === 'standard_webhooks' ? makeSigningSecret() : randomBytes(32).toString('base64url');
  const sealed = secretBox.seal(given ?? made, { orgId, ownerId: id, kind: secretKind });
  return { secret: given === undefined ? made : null, sealed };
}

/** `null` if the hook has none; throws when the key ring does not open it. */
export function openHookSecret(
  { secretBox }: Pick<Deps, 'secretBox'>,
  { orgId }: OrgScope,
  { id, secret }: { readonly id: string; readonly secret: SealedSecret | null },
): string | null {
  return secret && secretBox.open(secret, { orgId, ownerId: id, kind: secretKind });
}

/** A hook that is off responds as if it did not exist; throws not_found. */
export async function toggleHook(
  { db }: Pick<Deps, 'db'>,
  scope: OrgScope,
  change: Pick<HookRow, 'id' | 'enabled'>,
): Promise<HookRow> {
  return found(await setHookEnabled(db, scope, change), 'Hook');
}

export interface HookRotation {
  readonly id: string;
  readonly replace: readonly ('url' | 'secret')[];
  /** Generated if undefined and replaced. */
  readonly secret: string | undefined;
}

/**
 * The old ones are refused from then on; a kept value is `null` in the response. Throws not_found, validation (a secret of
 * another form, or where none is replaced or needed).
 */
export async function rotateHook(
  deps: HookDeps,
  scope: OrgScope,
  { id, replace, secret: given }: HookRotation,
): Promise<HookRow & { readonly url: string | null; readonly secret: string | null }> {
  const hook = found(await findHook(deps.db, scope, id), 'Hook');
  const { verification } = hook;
  const replacesSecret = replace.includes('secret');
  const issues = rotationIssues(verification, { replacesSecret, given });
  if (issues.length > 0) throw invalid('The rotation of the hook is not valid.', issues);
  const token = replace.includes('url') ? makeHookToken() : null;
  const made = replacesSecret ? secretFor(deps, scope, { id, verification, given }) : { secret: null, sealed: null };
  const tokenHash = token === null ? {} : { tokenHash: hashHookToken(token) };
  const rotated = await write(deps, async (tx) =>
    found(await replaceHookSecrets(tx, scope, { id, secret: made.sealed, ...tokenHash }), 'Hook'),
  );
  return { ...rotated, url: token && urlOf(deps, token), secret: made.secret };
}

function rotationIssues(
  verification: Verification,
  { replacesSecret, given }: { readonly replacesSecret: boolean; readonly given: string | undefined },
): readonly Issue[] {
  if (replacesSecret && verification.kind === 'none') {
    return [schemaIssue('replace', 'the hook has no secret: only `url` can be replaced')];
  }
  if (!replacesSecret && given !== undefined) {
    return [schemaIssue('secret', 'is given but not replaced: add `secret` to `replace`')];
  }
  return secretIssues(verification, given, 'secret');
}

/** Runs that it has requested continue; throws not_found. */
export async function deleteHook({ db }: Pick<Deps, 'db'>, scope: OrgScope, id: string): Promise<void> {
  found(await markHookDeleted(db, scope, id), 'Hook');
}
