import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { routes } from '../../src/api/routes/index.ts';
import { orgLimits } from '../../src/core/org-limits.ts';
import { checkSpec } from '../../src/core/spec/check/check.ts';
import { checkConnectionValues } from '../../src/core/spec/connection/params.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The JSON bodies of the curl calls, in order. */
const bodies = [...readme.matchAll(/-d '(\{[^']*\})'/g)].map(([, body = '']) => JSON.parse(body));

describe('the README', () => {
  it('shows a spec that is valid, and a connection that fits it', () => {
    const [document, connection] = bodies;
    const result = checkSpec(document);
    expect(result).toMatchObject({ valid: true });
    if (!result.valid) return;
    expect(checkConnectionValues(result.spec, connection)).toMatchObject({ ok: true });
    expect(result.spec.resources.map(({ key }) => key)).toContain(bodies[2].resource);
  });

  it('names each limit of an org with its default', () => {
    for (const [name, { default: usual, about }] of Object.entries(orgLimits)) {
      expect(readme).toContain(`| \`${name}\` | ${usual.toLocaleString('en')} | ${about} |`);
    }
  });

  it('calls endpoints that exist', () => {
    const calls = [...readme.matchAll(/curl -s "?\$api(\/[^\s"]+)/g)].map(([, path = '']) => path.replace(/\?.*/, ''));
    const patterns = routes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`));
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  it('names commands that exist', () => {
    const commands = [...readme.matchAll(/(?:^|`)npm (?:run )?(?:--silent )?([a-z]+)/gm)].map(([, name = '']) => name);
    expect([...new Set(commands)].filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
