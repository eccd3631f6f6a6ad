import { startStack } from '../support/service/stack.ts';
import { act, begin, someActs } from './acts.ts';
import { createApiServer } from './api-server.ts';
import { checkStory } from './check-story.ts';
import { openStory, type StoryPlace } from './story.ts';
import { witnessed } from './witness.ts';

/** What a story has come to. */
export interface StoryEnd {
  readonly seed: number;
  readonly lines: readonly string[];
  /** Empty: it converged. */
  readonly differences: readonly string[];
}

/** Which stories run, and who is notified of them. */
export interface Stories {
  readonly seeds: readonly number[];
  readonly atOnce: number;
  readonly trace: StoryPlace['trace'];
  /** The name of a bug to plant; absent: none. Stories end with the first that finds it. */
  readonly plant?: string | null;
  /** True: the service stays up after the last story until the process is interrupted. */
  readonly keep?: boolean;
  ended(end: StoryEnd): void;
}

/** The service of some stories. */
interface Stage extends AsyncDisposable {
  readonly place: Omit<StoryPlace, 'trace'>;
  /** Plants a bug in the worker, instead of the one before; null: none. */
  plant(name: string | null): Promise<void>;
}

/** Starts a service without a bug. */
export async function openStage(): Promise<Stage> {
  await using open = new AsyncDisposableStack();
  const apis = open.use(await createApiServer());
  const stack = open.use(await startStack({ allow: [apis.hostPort] }));
  let settings: Readonly<Record<string, string>> = {};
  let replacing: Promise<void> = Promise.resolve();
  const replaceWorker = (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const before = replacing;
    const replace = async (): Promise<void> => {
      await before;
      await stack.killWorker(signal);
      await stack.startWorker(settings);
    };
    replacing = replace();
    return replacing;
  };
  const opened = open.move();
  return {
    place: { stack, url: apis.url, apis: apis.apis, replaceWorker: () => replaceWorker('SIGKILL') },
    async plant(name) {
      settings = name === null ? {} : planted(name);
      await replaceWorker('SIGTERM');
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Runs stories on one service, some at once. Resolves when all have ended. */
export async function runStories({ seeds, atOnce, trace, keep = false, plant = null, ended }: Stories): Promise<void> {
  await using stage = await openStage();
  if (plant !== null) await stage.plant(plant);
  const left = [...seeds];
  const work = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      const end = await runStory(seed, { ...stage.place, trace });
      ended(end);
      if (plant !== null && end.differences.length > 0) left.length = 0;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (keep) await new Promise((interrupted) => process.once('SIGINT', interrupted));
}

const planted = (plant: string) => ({
  CONVERGE_PLANT: plant,
  NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${new URL('plant-hook.ts', import.meta.url).href}`,
});

/** Runs one story. */
export async function runStory(seed: number, place: StoryPlace): Promise<StoryEnd> {
  let lines: readonly string[] = [];
  try {
    await using story = await openStory(seed, place);
    ({ lines } = story);
    story.account = witnessed(story.account, story);
    const { random } = story;
    const count = random.chance(0.6) ? random.between(1, 5) : random.between(6, 14);
    const known = someActs(random);
    if (random.chance(0.8)) await begin(story);
    for (let done = 0; done < count; done += 1) await act(story, known);
    return { seed, lines, differences: await checkStory(story) };
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { seed, lines, differences: [`the story ended early: ${reason}`] };
  }
}
