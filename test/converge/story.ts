/**
 * One story: a random spec, a random API, random acts, and then the comparison. Its seed decides all of it; only what the
 * service does meanwhile is its own.
 */

import { createRandom, type Random } from '../simulation/random.ts';
import type { TestOrg } from '../support/service/api.ts';
import type { Stack } from '../support/service/stack.ts';
import { type Account, openConnection, publish } from './account.ts';
import { createStoryApi, type StoryApi } from './api.ts';
import { openDestination, type SinkPlace, type StoryDestination } from './destinations.ts';
import { documentOf } from './documents.ts';
import { type ResourceKey, randomGenes, type SpecGenes } from './genes.ts';
import { fill, type NamedMutation, someMutations } from './mutations.ts';

/** The params of a connection of a story. */
interface StoryParams {
  readonly area: string;
  readonly currency: string;
  readonly groups: readonly string[];
  /** The start of cursors that begin at a param. */
  readonly start: string;
}

/** What the acts of a story share. */
export interface Story extends AsyncDisposable, SinkPlace {
  readonly seed: number;
  readonly random: Random;
  readonly stack: Stack;
  readonly org: TestOrg;
  readonly api: StoryApi;
  readonly mutations: readonly NamedMutation[];
  account: Account;
  readonly destinations: readonly [StoryDestination, StoryDestination];
  /** Which of them the connection has. */
  destination: StoryDestination;
  /** The last copy that the customer made; null: none. */
  backup: { readonly of: StoryDestination; readonly at: string; readonly version: string } | null;
  genes: SpecGenes;
  params: StoryParams;
  version: string;
  /** Resources whose rows may have an earlier shape until a backfill, because a plan said so. */
  readonly shaped: Set<ResourceKey>;
  /** The connection has delivered elsewhere since its first sync. */
  wasElsewhere: boolean;
  /** Resources that a person has to have delivered again. */
  readonly owed: Set<ResourceKey>;
  /** Records were requeued. */
  hasRequeued: boolean;
  /** The API responds badly in a way that no reader can notice. */
  isBlind: boolean;
  /** What a run has lost. */
  readonly losses: string[];
  /** What happened so far. */
  readonly lines: readonly string[];
  /** Ends the worker with SIGKILL and starts another. */
  replaceWorker(): Promise<void>;
  log(line: string): void;
  /** Publishes other genes as the next version; null when that works. */
  publish(genes: SpecGenes): Promise<string | null>;
}

/** What stories share. */
export interface StoryPlace {
  readonly stack: Stack;
  /** Of the fake APIs of all stories. */
  readonly url: string;
  readonly apis: Map<string, StoryApi>;
  replaceWorker(): Promise<void>;
  /** Null: lines are only kept. */
  readonly trace: ((line: string) => void) | null;
}

/** Sets the scene of a story. */
export async function openStory(seed: number, place: StoryPlace): Promise<Story> {
  await using open = new AsyncDisposableStack();
  const random = createRandom(seed);
  const form = (): 'text' | 'number' => (random.chance(0.7) ? 'text' : 'number');
  const api = createStoryApi({ listed: form(), deleted: form() });
  const name = `s${seed}`;
  place.apis.set(name, api);
  open.defer(() => void place.apis.delete(name));
  const org = await place.stack.newOrg();
  const baseUrl = `${place.url}/${name}`;
  const spec = { key: `story-${seed}`, baseUrl };
  const lines: string[] = [];
  const log = (line: string): void => {
    lines.push(line);
    place.trace?.(line);
  };
  let minor = 0;
  const publishNext = async (genes: SpecGenes): Promise<string | null> => {
    minor += 1;
    const refused = await publish(org, documentOf(genes, `1.${minor}.0`, spec));
    return refused?.refused ?? null;
  };
  const genes = await firstGenes(random, publishNext, log);
  const sinks = { baseUrl, sinks: api.sinks };
  const destinations = [
    open.use(await openDestination('A', genes.destination, sinks)),
    open.use(await openDestination('B', genes.destination, sinks)),
  ] as const;
  const params: StoryParams = {
    area: 'eu',
    currency: 'EUR',
    groups: ['a', 'b', 'c'],
    start: new Date(Date.now() - 12 * 86_400_000).toISOString(),
  };
  fill(random, api.records);
  const version = `1.${minor}.0`;
  const secrets = { token: api.token, target: destinations[0].address };
  log(`spec ${JSON.stringify(documentOf(genes, version, spec))}`);
  log(`params ${JSON.stringify(params)}`);
  const account = await openConnection(org, { spec: { key: spec.key, version }, params: { ...params }, secrets });
  const opened = open.move();
  const story: Story = {
    seed,
    ...sinks,
    random,
    stack: place.stack,
    org,
    api,
    mutations: someMutations(random),
    account,
    destinations,
    destination: destinations[0],
    backup: null,
    genes,
    params,
    version,
    shaped: new Set(),
    owed: new Set(),
    hasRequeued: false,
    isBlind: false,
    losses: [],
    wasElsewhere: false,
    lines,
    replaceWorker: place.replaceWorker,
    log,
    async publish(next) {
      const refused = await publishNext(next);
      if (refused === null) story.version = `1.${minor}.0`;
      return refused;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
  return story;
}

async function firstGenes(
  random: Random,
  publishNext: (genes: SpecGenes) => Promise<string | null>,
  log: (line: string) => void,
): Promise<SpecGenes> {
  for (let tries = 0; tries < 20; tries += 1) {
    const genes = randomGenes(random);
    const refused = await publishNext(genes);
    if (refused === null) return genes;
    log(`a spec is refused: ${refused}`);
  }
  throw new Error('No spec of 20 is accepted');
}
