declare const scoped: unique symbol;

/**
 * The org whose rows a query may touch. Every query takes one right after `db`; a plain `{ orgId }` does not
 * type-check, so no query can be called with an org id taken from a request.
 */
export interface OrgScope {
  readonly [scoped]: true;
  readonly orgId: string;
}

/**
 * Makes a scope: from a verified credential, from ids that the API itself created, or from a row that was found. Never from
 * an id in a request. `test/support/security/scope-makers.ts` lists the callers with their reasons; a test holds the list.
 */
export const orgScope = (orgId: string): OrgScope =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the brand exists in the type system only
  ({ orgId }) as OrgScope;
