declare const scoped: unique symbol;

/**
 * The org whose rows a query may touch. Every query takes one right after `db`; a plain `{ orgId }` does not
 * type-check, so no query can be called with an org id taken from a request.
 */
export interface OrgScope {
  readonly [scoped]: true;
  readonly orgId: string;
  /** Null: every workspace of the org. */
  readonly workspaceId: string | null;
}

/**
 * Makes a scope. Callers: `src/api/auth.ts` and `src/api/embed-auth.ts` from a verified credential,
 * `src/control/oauth/oauth.ts` from a state that was issued to the org, `src/control/hooks/inbound.ts` from the token of a hook,
 * `activities` from the ids of a run, schedule, hook or endpoint that the API created, the sweepers and the operator's
 * commands from rows they found or made. Nobody else.
 */
export const orgScope = (orgId: string, workspaceId: string | null = null): OrgScope =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the brand exists in the type system only
  ({ orgId, workspaceId }) as OrgScope;
