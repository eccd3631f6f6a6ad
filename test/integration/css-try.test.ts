import { describe, expect, it } from 'vitest';
import { useAuthors, withKey } from '../support/cli/authors.ts';
import { peopleKey, peopleSpec } from '../support/cli/people-api.ts';
import { runCss } from '../support/cli/run-css.ts';
import { eventually } from '../support/service/eventually.ts';

const { api, authorsFolder } = useAuthors();

describe('css try', () => {
  it('shows requests, records, filtered ones, rows, and invalid records with their reasons', async () => {
    const { read, folder } = authorsFolder();
    const { exitCode, stdout } = await read('try', {}, ...withKey, '--json');
    const shown = JSON.parse(stdout);
    expect(exitCode).toBe(0);
    expect(shown.requests).toEqual([
      expect.objectContaining({ method: 'GET', url: `${api().origin}/people?limit=4`, status: 200 }),
      expect.objectContaining({ method: 'GET', url: `${api().origin}/people?limit=4&after=4`, status: 200 }),
    ]);
    expect(shown.records.map(({ id }: { id: number }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(shown.filtered).toMatchObject([{ id: 2 }]);
    expect(shown.rows).toEqual([1, 4, 5, 6].map((id) => ({ id, name: `Person ${id}`, email: `person${id}@x.test` })));
    expect(shown.invalid).toMatchObject([{ externalId: '3', reasons: [{ path: 'name', message: 'must be string' }] }]);
    expect(shown).toMatchObject({ status: 'partial', limited: false, hints: [], error: null });
    const text = await runCss(
      { folder, env: { KEY: peopleKey, EGRESS_ALLOW: api().hostPort } },
      ...['try', 'people.yaml', '--param', `apiUrl=${api().origin}`, '--secret', 'apiKey=env:KEY'],
    );
    expect(text.stdout).toContain('people: 2 requests, 6 records: 4 rows, 1 filtered, 1 invalid');
    expect(text.stdout).toContain('3: name: must be string');
  });

  it('gives hints where the spec may be wrong although nothing fails', async () => {
    const { read } = authorsFolder(peopleSpec().replace('next: body.next,', 'next: body.nxt,'));
    const hint = 'The only page has exactly 4 records, and pagination.next (body.nxt) finds nothing in its response.';
    expect((await read('try', {}, ...withKey)).stdout).toContain(`\nhints\n  ${hint} If it has more, correct it.\n`);
  });

  it('reads no more records than --limit says', async () => {
    const { read } = authorsFolder();
    const shown = JSON.parse((await read('try', {}, ...withKey, '--limit', '1', '--json')).stdout);
    expect(shown).toMatchObject({ limited: true, records: [{ id: 1 }], rows: [{ id: 1 }] });
    expect(shown.requests).toHaveLength(1);
  });

  it('shows no secret, even where the API echoes it', async () => {
    const { read } = authorsFolder(peopleSpec().replace("'name': full_name", "'name': full_name, 'seen': seen_with"));
    for (const args of [[], ['--json']]) {
      const { stdout, stderr } = await read('try', {}, ...withKey, ...args);
      expect(stdout).toContain('[redacted]');
      expect(stdout + stderr).not.toContain(peopleKey);
    }
  });

  it('logs in as a run does: client credentials, a session', async () => {
    const kinds = [
      `{ kind: oauth2_client_credentials, tokenUrl: '{{ params.apiUrl }}/token', clientId: me, clientSecret: '{{ secrets.apiKey }}' }`,
      `{ kind: session, login: { method: POST, path: /login, body: { json: { key: '{{ secrets.apiKey }}' } } }, tokenFrom: body.token }`,
    ];
    for (const auth of kinds) {
      const { read } = authorsFolder(peopleSpec({ auth }));
      const { exitCode, stdout, stderr } = await read(
        'try',
        { input: 'secret-of-login' },
        ...withKey,
        '--limit',
        '1',
        '--json',
      );
      expect({ auth, exitCode, stderr, rows: JSON.parse(stdout).rows }).toMatchObject({
        exitCode: 0,
        rows: [{ id: 1 }],
      });
      expect(JSON.parse(stdout).requests).toHaveLength(2);
      expect(stdout).not.toContain(peopleKey);
    }
  });

  it('says what to do where a person must sign in, and reads with a token that is given', async () => {
    const auth = `{ kind: oauth2_authorization_code, authorizeUrl: https://x.test/a, tokenUrl: https://x.test/t, clientId: me, clientSecret: '{{ secrets.apiKey }}' }`;
    const { read } = authorsFolder(peopleSpec({ auth }));
    const without = await read('try', {}, ...withKey);
    expect(without.exitCode).toBe(1);
    expect(without.stdout).toContain('auth_failed: ');
    expect(without.stdout).toContain('give a token with --access-token -');
    const { exitCode, stdout } = await read(
      'try',
      { env: { TOKEN: peopleKey } },
      '--access-token',
      'env:TOKEN',
      '--json',
    );
    expect({ exitCode, rows: JSON.parse(stdout).rows.length }).toEqual({ exitCode: 0, rows: 4 });
  });

  it('ends with the error of the run and exits with 1 when the API fails', async () => {
    const { read } = authorsFolder(peopleSpec({ path: '/broken' }));
    const says = '{"error":"no such thing"}';
    const { exitCode, stdout } = await read('try', {}, ...withKey, '--json');
    expect({ exitCode, shown: JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      shown: { status: 'failed', rows: [], requests: [{ status: 400, says }], error: { code: 'source_rejected' } },
    });
    expect((await read('try', {}, ...withKey)).stdout).toContain(`\n\nthe API says\n  ${says}\n`);
    const wrongKey = await authorsFolder().read('try', { input: 'wrong-key' }, ...withKey);
    expect(wrongKey.exitCode).toBe(1);
    expect(wrongKey.stdout).toContain('auth_failed: GET /people responded with 401');
  });

  it('reaches no address that is not public unless it is allowed, and says how to allow it', async () => {
    const { css } = authorsFolder();
    const before = api().asked.length;
    const { exitCode, stdout } = await css('try', 'people.yaml', '--param', `apiUrl=${api().origin}`);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('auth_failed: auth.value is empty.');
    expect(stdout).toContain('--secret apiKey=-');
    const blocked = await authorsFolder(peopleSpec({ auth: '{ kind: none }' })).css(
      ...['try', 'people.yaml', '--param', `apiUrl=${api().origin}`],
    );
    expect(blocked.stdout).toContain(`egress_blocked: `);
    expect(blocked.stdout).toContain(`If this address is meant, allow it: --allow ${api().hostPort}`);
    expect(api().asked).toHaveLength(before);
  });

  it('shows on Ctrl-C what was read until then, and exits with 130', async () => {
    const { read } = authorsFolder(peopleSpec({ path: '/slow', auth: '{ kind: none }' }));
    const before = api().asked.length;
    const { exitCode, stdout } = await read(
      'try',
      {
        onStart: ({ kill }) =>
          void eventually('the API is asked', async () => api().asked.length > before).then(() => kill('SIGINT')),
      },
      '--json',
    );
    expect({ exitCode, error: JSON.parse(stdout).error }).toMatchObject({
      exitCode: 130,
      error: { code: 'interrupted' },
    });
  });

  it('refuses a secret that is written on the command line, and does not repeat it', async () => {
    const { css } = authorsFolder();
    const { exitCode, stdout, stderr } = await css('try', 'people.yaml', '--secret', `apiKey=${peopleKey}`, '--json');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('ps and the history of the shell show it');
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'usage' } });
    expect(stdout + stderr).not.toContain(peopleKey);
  });
});
