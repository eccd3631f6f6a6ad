import { AppError } from '../../core/errors.ts';
import type { EgressGuard } from '../../core/http/egress.ts';

const lengthMax = 2048;

/**
 * Resolves the host now, so that the caller sees the refusal of a private address. A DNS failure refuses nothing, since every
 * request is checked again.
 */
export async function endpointUrlIssue(
  egress: Pick<EgressGuard, 'urlIssue' | 'vetUrl'>,
  text: string,
): Promise<string | null> {
  if (text.length > lengthMax) return `expected at most ${lengthMax} characters`;
  if (/[\s\p{Cc}]/u.test(text)) return 'holds white space or a control character';
  if (!URL.canParse(text)) return 'expected an absolute URL such as https://hooks.example.com/sync';
  if (text.includes('#')) return 'has a fragment, which is never sent: remove it';
  return egress.urlIssue(text) ?? (await addressIssue(egress, new URL(text)));
}

async function addressIssue(egress: Pick<EgressGuard, 'vetUrl'>, url: URL): Promise<string | null> {
  try {
    await egress.vetUrl(url);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'egress_blocked') return error.message;
    return null;
  }
}
