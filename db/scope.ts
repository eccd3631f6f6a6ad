declare const scoped: unique symbol;

/**
 * The org whose rows a query may touch; every query takes one right after `db`. A plain `{ orgId }` does not type-check, so that
 * no query takes an org id from a request.
 */
export interface OrgScope {
  readonly [scoped]: true;
  readonly orgId: string;
}

/**
 * Only from a verified credential, from ids that the API itself created, or from a found row; never from an id in a request.
 * `test/support/security/scope-makers.ts` lists the callers with their reasons; a test holds the list.
 */
export const orgScope = (orgId: string): OrgScope =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the brand exists in the type system only
  ({ orgId }) as OrgScope;
