import type { ScriptedApi, ScriptedReply } from './scripted-api.ts';

/** A record of {@link listedResource}. */
export interface ListedRow {
  readonly id: number;
  readonly name?: string;
  readonly gone?: boolean;
}

/** A row for each id. */
export const rowsOf = (...ids: readonly number[]): ListedRow[] => ids.map((id) => ({ id }));

/** What a test decides of a resource and its API. */
export interface ListedResourceOptions {
  readonly deletes: Readonly<Record<string, unknown>>;
  /** The rows that the API has now, or its response instead. */
  readonly reply: () => readonly ListedRow[] | ScriptedReply;
}

/** A resource that is read in full from one response of the API, which serves it from now on. */
export function listedResource(api: ScriptedApi, key: string, { deletes, reply }: ListedResourceOptions) {
  api.serve(key, () => {
    const given = reply();
    return 'length' in given ? { body: given } : given;
  });
  return { key, deletes };
}
