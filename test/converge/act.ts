import type { Story } from './story.ts';

/** Something that happens in a story; says its effect, or null when it cannot happen now. */
export interface Act {
  readonly name: string;
  /** How often it is picked, beside the others. */
  readonly weight: number;
  run(story: Story): Promise<string | null>;
}
