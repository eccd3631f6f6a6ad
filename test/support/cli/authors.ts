import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { scratchFolder } from '../service/scratch-folder.ts';
import { type PeopleApi, peopleKey, peopleSpec, startPeopleApi } from './people-api.ts';
import { type CssCall, runCss } from './run-css.ts';

/** A folder with a spec, and the command line in it. */
export interface AuthorsFolder {
  readonly folder: string;
  /** Of `people.yaml`. */
  readonly path: string;
  readonly css: (...args: readonly string[]) => ReturnType<typeof runCss>;
  /** Reads the API of the file's tests, with the key of it as input. */
  readonly read: (
    command: 'try' | 'record',
    call: Partial<CssCall>,
    ...args: readonly string[]
  ) => ReturnType<typeof runCss>;
}

/** What the tests of a file share: an API, and folders of authors who read it. */
export interface Authors {
  readonly api: () => PeopleApi;
  readonly authorsFolder: (text?: string) => AuthorsFolder;
}

/** For `runCss`: the key is on the input. */
export const withKey = ['--secret', 'apiKey=-'] as const;

/** A folder with a spec; no API is there to be read. */
export function folderWithSpec(text = peopleSpec()): Omit<AuthorsFolder, 'read'> {
  const folder = scratchFolder();
  const path = join(folder, 'people.yaml');
  writeFileSync(path, text);
  return { folder, path, css: (...args) => runCss({ folder }, ...args) };
}

/** Starts the API before the tests of a file and ends it after them. */
export function useAuthors(): Authors {
  let started: PeopleApi | undefined;
  beforeAll(async () => {
    started = await startPeopleApi();
  });
  afterAll(() => started?.[Symbol.asyncDispose]());
  const api = () => {
    if (!started) throw new Error('The API is started before the first test');
    return started;
  };
  const authorsFolder = (text?: string): AuthorsFolder => {
    const made = folderWithSpec(text);
    return {
      ...made,
      read: (command, call, ...args) =>
        runCss(
          { folder: made.folder, input: `${peopleKey}\n`, ...call },
          ...[command, 'people.yaml', '--param', `apiUrl=${api().origin}`, '--allow', api().hostPort, ...args],
        ),
    };
  };
  return { api, authorsFolder };
}
