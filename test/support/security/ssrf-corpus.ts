import corpus from '../../fixtures/ssrf.json' with { type: 'json' };

/** One attack, or one harmless look-alike that must not be blocked. */
export interface SsrfVector {
  readonly id: string;
  readonly category: string;
  readonly url: string;
  readonly expect: 'block' | 'allow';
  readonly why: string;
  /** Absent: an HTTP URL for the guarded client. */
  readonly kind?: 'host' | 'dsn' | 'template' | 'next-link' | 'tds-routing' | 'auth-type';
  readonly port?: number;
  /** The responses of the resolver by name; a missing name does not exist. */
  readonly dns?: Readonly<Record<string, readonly string[]>>;
  /** The addresses by name, one list per lookup. */
  readonly dnsSequence?: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly redirectTo?: string;
  readonly allowlist?: readonly string[];
  readonly requests?: number;
  readonly params?: Readonly<Record<string, string>>;
  readonly base?: string;
  readonly expectHeadersAbsentAfterRedirect?: readonly string[];
  /** Set on a "block" whose request may go through, to these addresses only. */
  readonly expectConnectTo?: readonly string[];
}

/** Vectors that no function of the egress guard sees, each kind with the reason. */
const left: Readonly<Record<string, string>> = {
  'auth-type': 'a login type is no address; the specification of a destination has no field for one',
};

/** Changes to vectors, each with the reason; the data stays as it is. */
const overrides: Readonly<Record<string, { readonly reason: string; readonly vector: Partial<SsrfVector> }>> = {
  S288: {
    reason: 'the fake server has no certificate; what a redirect strips does not depend on the scheme',
    vector: { url: 'http://ok.example.test/start', redirectTo: 'http://cdn.example.test/data' },
  },
};

/** The vectors that apply, as they are tested. */
export const ssrfVectors: readonly SsrfVector[] = (corpus as readonly SsrfVector[])
  .filter((vector) => left[vector.kind ?? 'http'] === undefined)
  .map((vector) => ({ ...vector, ...overrides[vector.id]?.vector }));
