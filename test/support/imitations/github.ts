/**
 * GitHub's issues as its REST API serves them: pages by Link header, `since` inclusive, pull requests among the issues,
 * ETags that a quiet list keeps, 403 for a spent quota, 410 for a repository without issues, 404 for an issue that moved.
 */
import { createHash } from 'node:crypto';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';

/** An issue or, with `pull_request`, a pull request. */
export interface Issue {
  readonly id: number;
  readonly number: number;
  readonly title: string;
  readonly state: 'open' | 'closed';
  readonly user: { readonly login: string } | null;
  readonly labels: readonly { readonly name: string }[];
  readonly comments: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly closed_at: string | null;
  readonly pull_request?: { readonly url: string };
}

/** A comment of an issue. */
export interface Comment {
  readonly id: number;
  readonly body: string;
  readonly updated_at: string;
}

/** A repository; tests change it as users would. */
interface Repository {
  readonly issues: Issue[];
  /** By number of the issue. */
  readonly comments: Map<number, Comment[]>;
  /** False: the list of issues is gone (410). */
  readonly hasIssues: boolean;
}

/** The API. */
export interface GitHub {
  /** By `owner/name`. */
  readonly repositories: Map<string, Repository>;
  /** The quota is spent for the next request: 403, to be asked again after `seconds`. */
  spendQuota(seconds: number): void;
  reply(request: UpstreamRequest): UpstreamResponse;
}

/** Starts without repositories; `token` is the only one it takes. */
export function imitateGitHub({ token }: { readonly token: string }): GitHub {
  const repositories = new Map<string, Repository>();
  let spentFor: number | null = null;

  const responseFor = (request: UpstreamRequest): UpstreamResponse => {
    const url = new URL(request.url, `http://${request.headers['host']}`);
    if (request.headers['authorization'] !== `Bearer ${token}`) return json(401, { message: 'Bad credentials' });
    if (spentFor !== null) {
      const reset = String(Math.ceil(Date.now() / 1000) + spentFor);
      spentFor = null;
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
      return { ...json(403, { message: 'API rate limit exceeded' }), headers };
    }
    const [, owner, name, list, number, below] =
      /^\/repos\/([^/]+)\/([^/]+)\/(\w+)(?:\/(\d+)\/(\w+))?$/.exec(url.pathname) ?? [];
    const repository = repositories.get(`${owner}/${name}`);
    if (!repository || list !== 'issues') return json(404, { message: 'Not Found' });
    if (number === undefined)
      return repository.hasIssues
        ? issuesPage(repository, url, request)
        : json(410, { message: 'Issues are disabled for this repo' });
    const comments = below === 'comments' ? repository.comments.get(Number(number)) : undefined;
    return comments ? page(comments, url, request) : json(404, { message: 'Not Found' });
  };

  return {
    repositories,
    spendQuota(seconds) {
      spentFor = seconds;
    },
    reply(request) {
      const reply = responseFor(request);
      return { ...reply, headers: { 'x-ratelimit-remaining': '4999', ...reply.headers } };
    },
  };
}

function issuesPage({ issues }: Repository, url: URL, request: UpstreamRequest): UpstreamResponse {
  const since = url.searchParams.get('since');
  const wanted = issues.filter(({ updated_at }) => since === null || Date.parse(updated_at) >= Date.parse(since));
  return page(
    wanted.toSorted((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at)),
    url,
    request,
  );
}

function page(items: readonly object[], url: URL, request: UpstreamRequest): UpstreamResponse {
  const perPage = Number(url.searchParams.get('per_page') ?? 30);
  const no = Number(url.searchParams.get('page') ?? 1);
  const body = JSON.stringify(items.slice((no - 1) * perPage, no * perPage));
  const etag = `W/"${createHash('sha256').update(body).digest('hex')}"`;
  if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: '' };
  const last = Math.max(1, Math.ceil(items.length / perPage));
  const link = (to: number, rel: string) => {
    const target = new URL(url);
    target.searchParams.set('page', String(to));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = no < last ? { link: [link(no + 1, 'next'), link(last, 'last')].join(', ') } : {};
  return { headers: { etag, 'content-type': 'application/json; charset=utf-8', ...links }, body };
}

const json = (status: number, body: unknown): UpstreamResponse => ({ status, body: JSON.stringify(body) });
