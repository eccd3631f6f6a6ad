import type { ResourceKey } from './genes.ts';
import { mutate } from './mutations.ts';
import type { Story } from './story.ts';

/** The resources of the spec as it is now, parents first. */
export const keysOf = ({ genes }: Story): readonly ResourceKey[] => genes.resources.map(({ key }) => key);

/** One of them. */
export const oneOf = (story: Story): ResourceKey => story.random.pick(keysOf(story));

/** Some changes of the API. */
export const some = (story: Story, most: number): string => mutate(story, story.random.between(1, most));
