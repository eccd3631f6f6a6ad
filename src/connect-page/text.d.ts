import type words from './words.json';

declare global {
  /** All texts in the language of the page, which the service puts before the script. `{0}` stands for a name or a number. */
  const text: (typeof words)['en'];
  type Words = (typeof words)['en'];
}
