import type { KyselyPlugin } from 'kysely';
import { createApp } from '../../../src/api/app.ts';
import { serveConsole } from '../../../src/console/console.ts';
import type { TestApi } from '../service/api.ts';

/** The API, with its statements counted. */
export interface CountedApi {
  readonly app: TestApi['app'];
  /** Statements since the last question. */
  readonly take: () => number;
}

/** Counts results, because some statements are compiled once and reach no other step of a plugin. */
export function countStatements({ deps }: TestApi): CountedApi {
  let statements = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      statements += 1;
      return result;
    },
  };
  return {
    app: createApp({ ...deps, db: deps.db.withPlugin(counting) }, serveConsole),
    take() {
      const taken = statements;
      statements = 0;
      return taken;
    },
  };
}
