import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layers } from '../../scripts/layer-rules.ts';
import { routes } from '../../src/api/routes/index.ts';
import { orgLimits } from '../../src/core/resources/org-limits.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';
import { checkConnectionValues } from '../../src/core/spec/connection/params.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const readme = read('README.md');
const { scripts } = JSON.parse(read('package.json'));
/** What a reader is led to from the README. */
const guides = [
  'README.md',
  'docs/features.md',
  'docs/operating.md',
  'docs/widget.md',
  'docs/oauth.md',
  'docs/debugging.md',
];

/** The JSON bodies of the curl calls, in order. */
const bodies = [...readme.matchAll(/-d '(\{[^']*\})'/g)].map(([, body = '']) => JSON.parse(body));

describe('the README and the guides', () => {
  it('show a spec that is valid, and a connection that fits it', () => {
    const [document, connection] = bodies;
    const result = checkSpec(document);
    expect(result).toMatchObject({ valid: true });
    if (!result.valid) return;
    expect(checkConnectionValues(result.spec, connection)).toMatchObject({ ok: true });
    expect(result.spec.resources.map(({ key }) => key)).toContain(bodies[2].resource);
  });

  it('name each limit of an org with its default', () => {
    const operating = read('docs/operating.md');
    for (const [name, { default: usual, about }] of Object.entries(orgLimits)) {
      expect(operating).toContain(`| \`${name}\` | ${usual.toLocaleString('en')} | ${about} |`);
    }
  });

  it.each(guides)('call endpoints that exist: %s', (file) => {
    const calls = [...read(file).matchAll(/curl -s "?\$api(\/[^\s"]+)/g)].map(([, path = '']) =>
      path.replace(/\?.*/, ''),
    );
    const patterns = routes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`));
    if (file === 'README.md') expect(calls.length).toBeGreaterThan(5);
    expect(calls.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  it.each(guides)('name commands that exist: %s', (file) => {
    const text = read(file);
    const commands = [...text.matchAll(/(?:^|`)npm (?:run )?(?:--silent )?([a-z]+)/gm)].map(([, name = '']) => name);
    expect([...new Set(commands)].filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  const documents = globSync(['*.md', 'docs/**/*.md', 'clients/*/*.md'], { cwd: root });
  it.each(documents)('link to files that exist: %s', (file) => {
    const links = [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, path = '']) => path);
    expect(links.filter((path) => !existsSync(join(root, dirname(file), path)))).toEqual([]);
  });

  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', ...guides])('name files and folders that exist: %s', (file) => {
    const paths = [...read(file).matchAll(/`((?:src|activities|workflows|db|test|scripts|bench|docs)\/[\w./-]+)`/g)];
    expect(paths.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('name every room of the service: ARCHITECTURE.md', () => {
    const map = read('ARCHITECTURE.md');
    const files = globSync('{src,activities,workflows,db}/**/*.{ts,js,sql}', { cwd: root });
    const rooms = new Set(files.map((path) => dirname(path).split(/[\\/]/).at(-1) ?? ''));
    expect([...rooms].filter((room) => !map.includes(`${room}/`))).toEqual([]);
  });

  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('name the layers of src/core in their order: %s', (file) => {
    const [, list = ''] = /the files of `src\/core` itself((?:[^.\n]|\n(?!\n))*)/.exec(read(file)) ?? [];
    const named = [...list.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name);
    expect(['', ...named]).toEqual(layers['src/core']);
  });
});
