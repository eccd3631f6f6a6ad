import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/admin/commands.ts';
import { routes } from '../../src/api/routes/index.ts';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { describeVariables } from '../../src/config/config.ts';
import { openTestDatabase } from '../support/service/database.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const pages = globSync('docs/operations/*.md', { cwd: root }).toSorted();
const { scripts } = JSON.parse(read('package.json'));
const { paths: documented } = JSON.parse(read('openapi.json'));

/** Commands of a page: what stands in backticks, or in a block of code. */
const commandsIn = (page: string, name: string): readonly string[] => {
  const text = read(page);
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  const lines = text.split('\n').map((line) => line.trim());
  return [...spans, ...lines].filter((line) => line === name || line.startsWith(`${name} `));
};

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string): readonly string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** It needs neither a database nor a valid configuration, so it is no command like the others. */
const doctor = { name: 'doctor', options: [] };

describe('the runbooks', () => {
  it('are all in the index', () => {
    const index = read('docs/operations/README.md');
    const names = pages.map((page) => page.split(/[\\/]/).at(-1) ?? '').filter((name) => name !== 'README.md');
    expect(names.length).toBeGreaterThan(12);
    expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });

  it.each(pages)('link to pages and headings that exist: %s', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    for (const [link, path = '', anchor] of links) {
      const target = path === '' ? page : join(dirname(page), path);
      if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
      else expect(existsSync(join(root, target)), link).toBe(true);
    }
  });

  it.each(pages)('name npm scripts that exist: %s', (page) => {
    const named = commandsIn(page, 'npm').map((line) => /^npm (?:run )?(\w+)/.exec(line)?.[1] ?? line);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it.each(pages)('name commands of the operator that exist, with their options: %s', (page) => {
    for (const line of commandsIn(page, 'npm run admin --')) {
      const [, given = ''] = line.split('npm run admin -- ');
      const command = [...commands, doctor].find(({ name }) => given === name || given.startsWith(`${name} `));
      expect(command?.name, line).toBeDefined();
      const options = [...given.matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
      expect([...(command?.options ?? []), 'json'], line).toEqual(expect.arrayContaining(options));
    }
  });

  it.each(pages)('name commands of css that exist, with their options: %s', (page) => {
    const streams = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
    const tools = { env: {}, folder: '.', ...streams, signal: new AbortController().signal };
    const program = everyCommand(createProgram(tools, async () => undefined));
    for (const line of commandsIn(page, 'css')) {
      const command = program.find((one) => one.name() === line.split(' ')[1]);
      expect(command?.name(), line).toBeDefined();
      const options = [...line.matchAll(/--[a-z-]+/g)].map(([option]) => option);
      expect(
        command?.options.map(({ long }) => long),
        line,
      ).toEqual(expect.arrayContaining(options));
    }
  });

  it.each(pages)('name endpoints that exist: %s', (page) => {
    const named = [...read(page).matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/[^`\s?]+)[^`]*`/g)];
    for (const [span, method = '', path = ''] of named) {
      const isRoute = routes.some((route) => route.method === method.toLowerCase() && route.path === path);
      const isDocumented = documented[path.replace(/^\/api(\/v1)?/, '')]?.[method.toLowerCase()] !== undefined;
      expect(isRoute || isDocumented || operatorPaths.includes(path), span).toBe(true);
    }
  });

  it.each(pages)('name settings that are read: %s', (page) => {
    const known = new Set(describeVariables().map(({ name }) => name));
    const named = [...read(page).matchAll(/`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !known.has(name) && !readByOthers.has(name) && !name.startsWith('OTEL_'))).toEqual(
      [],
    );
  });

  it('have statements that the control database understands', async () => {
    await using database = await openTestDatabase();
    const blocks = pages.flatMap((page) =>
      [...read(page).matchAll(/```sql\n([^`]*)```/g)].map(([, block = '']) => block),
    );
    const statements = blocks.flatMap((block) => block.split(/;\s*(?:--.*)?$/m)).filter((each) => /\w/.test(each));
    expect(statements.length).toBeGreaterThan(10);
    for (const statement of statements) {
      // Of a customer.
      if (!statement.includes('from contacts')) await sql.raw(`explain ${statement}`).execute(database.db);
    }
  });

  it.each(pages.filter((page) => !/README|alerts|backup|cloud|configure|deploy|metrics|traces|upgrade/.test(page)))(
    'say what is seen, how to confirm it, what to do, and how to see that it worked: %s',
    (page) => {
      const headings = [...read(page).matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
      expect(headings).toEqual(['Symptom', 'How to confirm', 'What to do', 'How to see that it worked']);
    },
  );
});

/** At the ports for probes and scrapes. */
const operatorPaths = ['/healthz', '/readyz', '/metrics'];

/** By the client of Temporal, and by compose.yaml; OTEL_* by OpenTelemetry. */
const readByOthers = new Set([
  'API_BIND',
  'CSS_API_KEY',
  'CSS_API_URL',
  'API_PORT',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
]);
