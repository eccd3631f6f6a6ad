import { AppError } from '../errors.ts';

/** All that an org learns. Never the address: the guard must not be an oracle for DNS or ports. */
export type BlockReason =
  | 'scheme'
  | 'plain_http'
  | 'userinfo'
  | 'host'
  | 'port'
  | 'address'
  | 'away'
  | 'link'
  | 'redirect'
  | 'redirect_limit'
  | 'redirect_body'
  | 'redirect_downgrade';

const explanations: Readonly<Record<BlockReason, string>> = {
  scheme: 'only absolute http and https URLs are allowed',
  plain_http: 'plain http is allowed only to addresses on EGRESS_ALLOW; use https',
  userinfo: 'a URL must not carry a user name or password; put credentials under auth',
  host: 'the host is empty or not a host name',
  port: 'this port is not allowed',
  address: 'the host name must resolve to public addresses only; the operator can open others with EGRESS_ALLOW',
  away: 'the request goes to another origin than http.baseUrl; list its host in http.allowedHosts if that is intended',
  link: 'a URL in a response goes to another origin than the base URL; list its host in http.allowedHosts if that is intended',
  redirect: 'a redirect leads to another origin; list its host in http.allowedHosts if that is intended',
  redirect_limit: 'the response redirects more than 3 times',
  redirect_body: 'a redirect would send the request body to another origin',
  redirect_downgrade: 'a redirect leads from https to http',
};

export const explainBlock = (reason: BlockReason): string => explanations[reason];

/** Never retried. */
export const egressBlocked = (reason: BlockReason): AppError =>
  new AppError('egress_blocked', `Egress blocked (${reason}): ${explanations[reason]}.`);

/** Refused before its request exists: the caller that wanted to send the request logs it. */
export class BlockedUrlError extends AppError {
  readonly url: URL;

  constructor(reason: BlockReason, url: URL) {
    super('egress_blocked', egressBlocked(reason).message);
    this.url = url;
  }
}
