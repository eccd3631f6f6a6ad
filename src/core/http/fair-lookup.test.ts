import { describe, expect, it } from 'vitest';
import { workOf } from '../work-ids.ts';
import { createFairLookup, type Lookup } from './fair-lookup.ts';

/** A resolver that responds when it is told to. */
function createResolver() {
  const asked: { readonly host: string; readonly respond: () => void; readonly fail: () => void }[] = [];
  const lookup: Lookup = (host) =>
    new Promise((resolve, reject) => {
      asked.push({ host, respond: () => resolve(['192.0.2.1']), fail: () => reject(new Error('silent')) });
    });
  return { lookup, asked, hosts: () => asked.map(({ host }) => host) };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('lookups of names', () => {
  it('ask for a name once, however many want it', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    const both = [lookup('api.example.com'), lookup('api.example.com')];
    await turn();
    resolver.asked[0]?.respond();
    expect(await Promise.all(both)).toEqual([['192.0.2.1'], ['192.0.2.1']]);
    expect(resolver.hosts()).toEqual(['api.example.com']);
    void lookup('api.example.com');
    await turn();
    expect(resolver.hosts()).toHaveLength(2);
  });

  it('of a silent domain leave the others alone, and go on one after the other', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    const silent = Array.from({ length: 40 }, (_, no) => lookup(`n${no}.Silent.example`).catch(() => 'failed'));
    const other = lookup('api.other.example').catch(() => 'failed');
    await turn();
    expect(resolver.hosts()).toEqual([0, 1, 2, 3].map((no) => `n${no}.Silent.example`).concat('api.other.example'));
    for (let ended = 0; ended < 41; ended += 1) {
      resolver.asked[ended]?.fail();
      await turn();
    }
    expect(await Promise.all([...silent, other])).toEqual(Array.from({ length: 41 }, () => 'failed'));
  });

  it('of one org leave those of others alone, however many domains are silent', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    const silent = Array.from({ length: 30 }, (_, no) => `api.silent${no}.example`);
    void workOf({ orgId: 'org_1' }, async () => silent.forEach((host) => void lookup(host)));
    void workOf({ orgId: 'org_2' }, async () => void lookup('api.other.example'));
    await turn();
    expect(resolver.hosts()).toEqual([...silent.slice(0, 4), 'api.other.example']);
  });

  it('of a name wait for that of another org only once it has begun', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    const silent = Array.from({ length: 4 }, (_, no) => `api.silent${no}.example`);
    void workOf({ orgId: 'org_1' }, async () => [...silent, 'api.shared.example'].forEach((host) => void lookup(host)));
    await turn();
    void workOf({ orgId: 'org_2' }, async () => void lookup('api.shared.example'));
    void workOf({ orgId: 'org_3' }, async () => void lookup('api.shared.example'));
    await turn();
    expect(resolver.hosts()).toEqual([...silent, 'api.shared.example']);
  });

  it('are refused where very many names of a domain wait', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    for (let no = 0; no < 256; no += 1) void lookup(`n${no}.silent.example`);
    await expect(lookup('n256.silent.example')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    await turn();
    for (const { respond } of resolver.asked) respond();
    await turn();
    void lookup('n256.silent.example');
    for (let rounds = 0; rounds < 80; rounds += 1) {
      for (const { respond } of resolver.asked) respond();
      await turn();
    }
    expect(resolver.hosts()).toContain('n256.silent.example');
  });

  it('know the domains below the second level of a country', async () => {
    const resolver = createResolver();
    const lookup = createFairLookup(resolver.lookup);
    const silent = Array.from({ length: 5 }, (_, no) => `n${no}.silent.co.uk`);
    for (const host of [...silent, 'api.other.co.uk']) void lookup(host);
    await turn();
    expect(resolver.hosts()).toEqual([...silent.slice(0, 4), 'api.other.co.uk']);
  });
});
