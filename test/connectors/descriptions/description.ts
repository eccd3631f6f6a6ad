/** One operation of an API, as its vendor describes it. */
export interface Operation {
  readonly hasParameter: (name: string) => boolean;
  /** Dotted paths of the fields of a response body that the vendor does not describe. */
  readonly unknownFields: (status: number, body: unknown) => readonly string[];
}

/** What a vendor says about an API. */
export interface Description {
  /** What it is, in which package of which version. */
  readonly source: string;
  /** Null: there is no such operation. `path` is the whole path of a request. */
  readonly operation: (method: string, path: string) => Operation | null;
}

/** Fetches a description if it is not there yet, and reads it. */
export type LoadDescription = () => Promise<Description>;

/** Calls `visit` for each field of a JSON value, with its dotted path; items of lists have `[]`. */
export function eachField(value: unknown, visit: (path: string, name: string) => boolean, at = ''): void {
  if (Array.isArray(value)) for (const item of value) eachField(item, visit, `${at}[]`);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      const path = at === '' ? name : `${at}.${name}`;
      if (visit(path, name)) eachField(field, visit, path);
    }
  }
}

/** The pattern of a regular expression that matches this text alone. */
export const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
