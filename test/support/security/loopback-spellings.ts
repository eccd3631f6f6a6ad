import { connect } from 'node:net';
import type { Canaries } from './canaries.ts';
import { ssrfVectors } from './ssrf-corpus.ts';

/** Hosts as a database client takes them: no URL parser sees them first. */
const hosts = [
  'localhost',
  'LOCALHOST.',
  '127.0.0.1',
  '127.0.0.2',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '0',
  '0.0.0.0',
  '①②⑦.⓪.⓪.①',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '0:0:0:0:0:0:0:1',
];

/** URLs that the corpus does not have on every canary. */
const urls = ['http://127.0.0.2/', 'http://localhost/', 'http://localhost./', 'https://[::1]/', 'http://[::]/'];

/** The ways to spell the address of a canary: only those by which an unguarded client of this machine reaches one. */
export async function loopbackSpellings(
  canaries: Canaries,
): Promise<{ readonly urls: readonly string[]; readonly hosts: readonly string[] }> {
  const corpus = ssrfVectors
    .filter(({ kind, expect, dns, dnsSequence }) => kind === undefined && expect === 'block' && !dns && !dnsSequence)
    .map(({ url }) => url);
  const placed = [...urls, ...corpus].map((url) => onPort(url, canaries.port));
  return {
    urls: await reaching(
      placed.filter((url) => URL.canParse(url)),
      canaries,
      (url) => new URL(url).hostname.replace(/^\[|\]$/g, ''),
    ),
    hosts: await reaching(hosts, canaries, (host) => host),
  };
}

/** The same spelling with the port behind its authority; the URL parser would tidy the rest up too. */
const onPort = (url: string, port: number): string =>
  url.replace(/^(\s*[a-z]+:\/*(?:[^/?#\\@]*@)?(?:\[[^\]]*\]|[^/?#\\:@\s]+))(?::\d*)?/i, `$1:${port}`);

async function reaching(
  spellings: readonly string[],
  canaries: Canaries,
  hostOf: (spelling: string) => string,
): Promise<readonly string[]> {
  const tried = spellings.map(async (spelling) => ((await reaches(hostOf(spelling), canaries.port)) ? [spelling] : []));
  return [...new Set((await Promise.all(tried)).flat())];
}

/** A host elsewhere that takes long is none of ours. */
const retryWindowMs = 1000;

function reaches(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: retryWindowMs });
  const end = (reached: boolean): void => {
    socket.destroy();
    resolve(reached);
  };
  socket
    .once('connect', () => end(/^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')))
    .once('timeout', () => end(false))
    .on('error', () => end(false));
  return promise;
}
