import { beforeAll, describe, expect, it } from 'vitest';
import { type Comment, type Issue, imitateGitHub } from '../support/imitations/github.ts';
import { useSharedService } from '../support/service/use-shared-service.ts';
import { type Customer, connectCustomer } from '../support/sync/customer.ts';
import { specDocument } from '../support/sync/spec-documents.ts';

const token = 'ghp_0123456789abcdefghij';
const github = imitateGitHub({ token });
const shared = useSharedService({ reply: (request) => github.reply(request) });

/** GitHub's times are whole seconds. */
const monthAgo = Math.floor(Date.now() / 1000) * 1000 - 30 * 86_400_000;
/** Issue n was updated n minutes after a month ago; each fifth is a pull request, each seventh has comments. */
const issue = (repo: number, number: number): Issue => {
  const at = new Date(monthAgo + number * 60_000).toISOString().replace('.000', '');
  const closed = number % 3 === 0;
  return {
    id: repo * 1_000_000 + number,
    number,
    title: `Issue ${number} – "quoted", ünicode`,
    state: closed ? 'closed' : 'open',
    user: number % 4 === 0 ? null : { login: `user${number % 9}` },
    labels: Array.from({ length: number % 3 }, (_, index) => ({ name: `label${index}` })),
    comments: number % 7 === 0 ? 2 : 0,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: at,
    closed_at: closed ? at : null,
    ...(number % 5 === 0 ? { pull_request: { url: 'https://github.test/pulls/1' } } : {}),
  };
};

const commentsOf = (repo: number, { number }: Issue): Comment[] =>
  [1, 2].map((no) => ({
    id: repo * 1_000_000 + number * 10 + no,
    body: `comment ${no}`,
    updated_at: '2026-01-02T00:00:00Z',
  }));

function addRepository(name: string, repo: number, count: number): void {
  const issues = Array.from({ length: count }, (_, index) => issue(repo, index + 1));
  const commented = issues.filter(({ comments, pull_request }) => comments > 0 && !pull_request);
  const comments = new Map(commented.map((one) => [one.number, commentsOf(repo, one)]));
  github.repositories.set(name, { issues, comments, hasIssues: true });
}

let customer: Customer;
beforeAll(async () => {
  addRepository('acme/api', 1, 250);
  addRepository('acme/web', 2, 30);
  github.repositories.set('acme/wiki', { issues: [], comments: new Map(), hasIssues: false });
  const { stack, upstream } = shared();
  customer = await connectCustomer(stack, {
    document: specDocument('github-issues'),
    params: { apiUrl: upstream.url, repos: ['acme/api', 'acme/web', 'acme/wiki'] },
    secrets: { token, databaseUrl: 'postgres://unused.example.com/crm' },
    // GitHub's own pace, one request a second, would make the test wait.
    overrides: { http: { rateLimit: { requests: 1000, perSeconds: 1, burst: 1000 } } },
  });
  return () => customer[Symbol.asyncDispose]();
});

const expectedIssues = () =>
  [...github.repositories].flatMap(([repo, { issues }]) =>
    issues
      .filter((one) => !one.pull_request)
      .map((one) => ({
        id: String(one.id),
        repo,
        number: String(one.number),
        title: one.title,
        state: one.state,
        author: one.user?.login ?? null,
        labels: one.labels.map(({ name }) => name),
        comments: String(one.comments),
        updated_at: one.updated_at.replace('Z', '.000Z'),
        closed_at: one.closed_at?.replace('Z', '.000Z') ?? null,
      })),
  );

async function storedIssues(): Promise<unknown[]> {
  const rows = await customer.destination.query<Record<string, unknown>>(`
    select id::text, repo, number::text, title, state, author, labels, comments::text,
      to_json(updated_at at time zone 'UTC') #>> '{}' as updated_at, to_json(closed_at at time zone 'UTC') #>> '{}' as closed_at
    from github_issues order by id`);
  const iso = (value: unknown) => (typeof value === 'string' ? new Date(`${value}Z`).toISOString() : value);
  return rows.map((row) => ({ ...row, updated_at: iso(row['updated_at']), closed_at: iso(row['closed_at']) }));
}

const byId = (a: { readonly id: string }, b: { readonly id: string }) => Number(a.id) - Number(b.id);
const asked = (part: string) => shared().upstream.journal.filter(({ url }) => url.includes(part));

describe('the GitHub spec', () => {
  it('reads the issues of every repository, without pull requests, and waits where 403 means a spent quota', async () => {
    github.spendQuota(1);
    const run = await customer.sync('issues');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 280, quarantined: 0 } });
    expect(await storedIssues()).toEqual(expectedIssues().toSorted(byId));
    expect(run.statsJson.skipped).toBe(56);
    const statuses = (await customer.calls(run.id)).map(({ statusCode }) => statusCode);
    expect(statuses).toContain(403);
    expect(statuses).toContain(410);
  });

  it('asks a quiet repository once, for nothing, with the watermark and the ETag', async () => {
    await customer.sync('issues');
    const before = asked('/issues?').length;
    const run = await customer.sync('issues');
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 0 } });
    expect(asked('/issues?')).toHaveLength(before + 3);
    const calls = await customer.calls(run.id);
    expect(calls.map(({ statusCode }) => String(statusCode)).toSorted()).toEqual(['304', '304', '410']);
  });

  it('reads the comments of issues that have some, and again only of those that changed', async () => {
    const run = await customer.sync('issue_comments');
    const commented = [...github.repositories.values()].flatMap(({ comments }) => [...comments.values()].flat());
    expect(run).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: commented.length } });
    const rows = await customer.destination.query(
      'select id::text, issue_number::int, repo from github_issue_comments order by id',
    );
    expect(rows).toHaveLength(commented.length);
    expect(rows[0]).toEqual({ id: '1000071', issue_number: 7, repo: 'acme/api' });

    const before = asked('/comments').length;
    expect(await customer.sync('issue_comments')).toMatchObject({ status: 'succeeded', statsJson: { recordsIn: 0 } });
    expect(asked('/comments')).toHaveLength(before);

    const { issues, comments } = github.repositories.get('acme/api') ?? { issues: [], comments: new Map() };
    const changed = issues[6];
    if (!changed) throw new Error('There is an issue 7');
    issues[6] = { ...changed, title: 'Issue 7, changed', updated_at: new Date(Date.now() - 120_000).toISOString() };
    comments.set(7, [{ id: 1_000_071, body: 'edited', updated_at: '2026-02-01T00:00:00Z' }]);
    await customer.sync('issues');
    const after = await customer.sync('issue_comments');
    expect(asked('/comments')).toHaveLength(before + 1);
    // One comment was edited, the other is gone: 1 of 2 is not above the ratio of the spec.
    expect(after).toMatchObject({ status: 'succeeded', statsJson: { recordsOut: 1, deleted: 1 } });
    const gone = await customer.destination.query(
      'select id::text from github_issue_comments where _deleted_at is not null',
    );
    expect(gone).toEqual([{ id: '1000072' }]);
  });

  it('skips an issue that moved away and says that the run is partial', async () => {
    const { issues, comments } = github.repositories.get('acme/web') ?? { issues: [], comments: new Map() };
    for (const number of [7, 14]) {
      const changed = issues[number - 1];
      if (!changed) throw new Error('There is such an issue');
      issues[number - 1] = { ...changed, title: 'moved', updated_at: new Date(Date.now() - 100_000).toISOString() };
    }
    comments.delete(7);
    await customer.sync('issues');
    expect(await customer.sync('issue_comments')).toMatchObject({
      status: 'partial',
      statsJson: { recordsIn: 2, deleted: 0 },
    });
  });
});
