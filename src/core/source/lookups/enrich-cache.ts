import type { AnswerShelf } from './enrich-page-cache.ts';
import type { Answer, Answers } from './enrich-response.ts';

/** Answers the keys of one step from what is kept, from what another page asks for at this moment, or from the API. */
export interface AnswerCache {
  /** What was fetched is kept, also when a later request fails; then it throws what `fetch` threw. */
  answersTo(texts: readonly string[], shelf: AnswerShelf, work: CacheWork): Promise<Answers>;
}

/** What is done about keys. */
interface CacheWork {
  /** Told of those that need no request. */
  readonly onSaved: (texts: readonly string[]) => Promise<void>;
  /** Asks for the others and puts what it learns into `found` as it goes. */
  readonly fetch: (texts: readonly string[], found: Map<string, Answer>) => Promise<void>;
}

/** The cache of one step, shared by the pages that this process works on. */
export function createAnswerCache(): AnswerCache {
  const underWay = new Map<string, Promise<Answers>>();
  return {
    async answersTo(texts, shelf, work) {
      const others = texts.flatMap((text) => {
        const looking = underWay.get(shelf.keyOf(text));
        return looking ? [{ text, looking }] : [];
      });
      const own = texts.filter((text) => !underWay.has(shelf.keyOf(text)));
      const looking = lookUp(own, shelf, work);
      for (const text of own) underWay.set(shelf.keyOf(text), looking);
      try {
        const answers = new Map(await looking);
        await work.onSaved(others.map(({ text }) => text));
        for (const other of others) {
          const answer = (await other.looking).get(other.text);
          if (answer) answers.set(other.text, answer);
        }
        return answers;
      } finally {
        for (const text of own) underWay.delete(shelf.keyOf(text));
      }
    },
  };
}

async function lookUp(texts: readonly string[], shelf: AnswerShelf, { onSaved, fetch }: CacheWork): Promise<Answers> {
  if (texts.length === 0) return new Map();
  const kept = await shelf.read(texts);
  await onSaved([...kept.keys()]);
  const missing = texts.filter((text) => !kept.has(text));
  const found = new Map<string, Answer>();
  try {
    await fetch(missing, found);
  } catch (error) {
    await shelf.keep(found, { interrupted: true });
    throw error;
  }
  await shelf.keep(found, { interrupted: false });
  return new Map([...kept, ...found]);
}
