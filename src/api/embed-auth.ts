import { type OrgScope, orgScope } from '../../db/scope.ts';
import { type EmbedScope, verifyEmbedToken } from '../core/crypto/embed-token.ts';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../deps.ts';

/** Header of the embed token. Not the query, which ends up in logs, and not a cookie. */
export const embedTokenHeader = 'x-service-embed-token';

export interface EmbedCaller {
  readonly scope: OrgScope;
  readonly connectionId: string;
}

/**
 * Throws `unauthorized` with one text for every reason, also if embed tokens are not configured, and `forbidden` where the
 * scope is missing.
 */
export async function authenticateEmbed(
  { embed: { keys, issuer } }: Pick<Deps, 'embed'>,
  headers: Headers,
  needed: EmbedScope,
): Promise<EmbedCaller> {
  const token = headers.get(embedTokenHeader);
  const subject = keys && token !== null ? await verifyEmbedToken({ keys, issuer }, token) : null;
  if (subject) {
    if (!subject.scopes.includes(needed)) throw lacks(needed);
    return { scope: orgScope(subject.orgId), connectionId: subject.connectionId };
  }
  throw new AppError(
    'unauthorized',
    `A valid embed token is required in the header ${embedTokenHeader}: let your server request one with POST /api/v1/tokens/embed.`,
  );
}

const lacks = (scope: EmbedScope): AppError =>
  new AppError(
    'forbidden',
    `This embed token lacks the scope "${scope}": let your server name it in \`scopes\` of POST /api/v1/tokens/embed.`,
  );
