import { describe, expect, it } from 'vitest';
import { statusOf } from '../../src/api/errors.ts';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { runFailureCodes } from '../../src/core/events/run-failure.ts';
import { createEvaluatorPool } from '../../src/core/expressions/evaluator-pool.ts';
import type { RunNote } from '../../src/core/model/run-notes.ts';
import { Issue } from '../../src/core/resources/spec.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';
import { runSpecTests } from '../../src/core/spec-tests/run-spec-tests.ts';
import { blocksOf, readPage, specAround } from '../support/sync/documented-specs.ts';

/** The commands of the command line that do something, with their options. */
function leafCommands(): readonly { readonly name: string; readonly options: readonly string[] }[] {
  const streams = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
  const tools = { env: {}, folder: '.', ...streams, signal: new AbortController().signal };
  const program = createProgram(tools, async () => undefined);
  return everyCommand(program)
    .filter(({ commands }) => commands.length === 0)
    .map((command) => ({
      name: [command.parent?.name(), command.name()].filter((word) => word !== 'css').join(' '),
      options: command.options.flatMap(({ long }) => long ?? []),
    }));
}

/** Each note of a run; a missing word does not compile. */
const runNotes: Readonly<Record<RunNote, true>> = {
  not_modified: true,
  list_missing: true,
  partition_skipped: true,
  list_moved: true,
  page_short: true,
  count_differs: true,
  key_missing: true,
  page_repeated: true,
  parents_incomplete: true,
  report_incomplete: true,
  order_broken: true,
  window_restarted: true,
  window_split: true,
  page_shrunk: true,
  token_expired: true,
  cursor_missing: true,
  clock_apart: true,
  position_discarded: true,
  deletes_unknown: true,
  deletes_held_back: true,
  deletes_pending: true,
  stale: true,
  left_filter: true,
  delete_refused: true,
  row_missing: true,
  started_over: true,
  read_from_start: true,
  degraded: true,
};

describe('the pages for authors of connectors', () => {
  it.each(leafCommands())(
    'have an example of each command, and each of its options: css $name',
    ({ name, options }) => {
      const page = readPage('cli');
      expect(page).toMatch(new RegExp(`^css ${name}\\b`, 'm'));
      for (const option of options) expect(page).toContain(option);
    },
  );

  it.each(blocksOf('cookbook'))('have only fragments that the validator accepts: $at', ({ document }) => {
    expect(checkSpec(specAround(document))).toMatchObject({ valid: true });
  });

  it.each(blocksOf('tutorial'))(
    'have specs with the mistakes and messages that they name: $at',
    ({ note, document }) => {
      const result = checkSpec(document);
      const issues = result.valid ? [] : result.issues;
      expect(issues.map(({ path }) => path)).toEqual(
        note?.startsWith('invalid: ') ? note.slice('invalid: '.length).split(' ') : [],
      );
      for (const { path, message } of issues) expect(readPage('tutorial')).toContain(`| \`${path}\` | ${message} |`);
    },
  );

  it('have a test in the spec of the tutorial that fails as the page says, and passes once it is corrected', async () => {
    await using children = createEvaluatorPool({ size: 1 });
    const wrong = blocksOf('tutorial').find(({ note }) => note === 'failing test')?.document;
    const corrected = JSON.parse(
      JSON.stringify(wrong).replace('"name":"A","email":"b@x.test"', '"name":"A","email":"a@x.test"'),
    );
    const [failing, passing] = await Promise.all(
      [wrong, corrected].map(async (document) => {
        const result = checkSpec(document);
        return result.valid ? runSpecTests(result.spec, { evaluator: children.forOrg('org_a') }) : result.issues;
      }),
    );
    expect(failing).toMatchObject([
      {
        path: 'tests.0.expect.delivered',
        message: expect.stringContaining(
          'row 1: expected {"id":1,"name":"A","email":"b@x.test"}, got {"id":1,"name":"A","email":"a@x.test"',
        ),
      },
    ]);
    expect(passing).toEqual([]);
  });

  it('show every kind of pagination, of incremental read, of deletion and of authentication', () => {
    const text = readPage('cookbook');
    for (const kind of ['page', 'offset', 'cursor', 'next_url', 'link_header', 'keyset', 'token', 'api_key', 'basic']) {
      expect(text).toContain(`kind: ${kind}`);
    }
    for (const kind of [
      'bearer',
      'headers',
      'oauth2_client_credentials',
      'oauth2_authorization_code',
      'session',
      'jwt',
    ]) {
      expect(text).toContain(`kind: ${kind}`);
    }
    for (const mode of ['flag', 'full_scan', 'endpoint']) expect(text).toContain(`mode: ${mode}`);
  });

  it('explain every code of the API, of issues and of runs, and no other', () => {
    const parts = readPage('errors').split(/^## /m);
    const codesIn = (title: string) =>
      [...(parts.find((part) => part.startsWith(title)) ?? '').matchAll(/^### (\S+)$/gm)].map(([, code]) => code);
    expect(codesIn('Errors of the API')).toEqual([...Object.keys(statusOf), 'without-a-code']);
    expect(codesIn('Issues')).toEqual(Issue.entries.code.options);
    expect(new Set(codesIn('Errors of runs'))).toEqual(new Set(runFailureCodes));
  });

  it('explain every note of a run, and no other', () => {
    const [, text = ''] = readPage('errors').split(/^## Notes of runs$/m);
    const rows = [...text.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)].map(([, note]) => note ?? '');
    expect(rows.toSorted()).toEqual(Object.keys(runNotes).toSorted());
  });
});
