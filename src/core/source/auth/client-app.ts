/** An OAuth client of the org, for the connections of all its customers. */
export interface ClientApp {
  readonly clientId: string;
  /** `null` for a public client. */
  readonly clientSecret: string | null;
}

/** Asked for each request, so that a new secret counts at once; `null` if the org has no app of that key. */
export type FindApp = (key: string) => Promise<ClientApp | null>;
