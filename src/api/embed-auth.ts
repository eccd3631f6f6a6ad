import { type OrgScope, orgScope } from '../../db/scope.ts';
import { verifyEmbedToken } from '../core/crypto/embed-token.ts';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../deps.ts';

/** The header that carries an embed token: never the query, which ends up in logs, and no cookie. */
export const embedTokenHeader = 'x-service-embed-token';

/** A browser that may see one connection. */
export interface EmbedCaller {
  readonly scope: OrgScope;
  readonly connectionId: string;
}

/**
 * The browser behind an embed token. Throws `unauthorized`, with one text for every reason; also where embed tokens are
 * not configured: then none can be valid.
 */
export async function authenticateEmbed(
  { embed: { keys, issuer } }: Pick<Deps, 'embed'>,
  headers: Headers,
): Promise<EmbedCaller> {
  const token = headers.get(embedTokenHeader);
  const subject = keys && token !== null ? await verifyEmbedToken({ keys, issuer }, token) : null;
  if (subject) return { scope: orgScope(subject.orgId), connectionId: subject.connectionId };
  throw new AppError(
    'unauthorized',
    `A valid embed token is required in the header ${embedTokenHeader}: let your server request one with POST /api/v1/tokens/embed.`,
  );
}
