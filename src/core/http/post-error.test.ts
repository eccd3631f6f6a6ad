import { expect, it } from 'vitest';
import { egressBlocked } from './egress-blocked.ts';
import { postErrorOf } from './post-error.ts';

const failed = (facts: Readonly<Record<string, string>>) => Object.assign(new Error('made up'), facts);
const early = { expired: false, responded: false };

it.each([
  [egressBlocked('address'), early, 'egress_blocked'],
  [failed({}), { expired: true, responded: false }, 'timeout'],
  [failed({}), { expired: true, responded: true }, 'body_too_slow'],
  [failed({ code: 'UND_ERR_CONNECT_TIMEOUT' }), early, 'timeout'],
  [failed({ code: 'EAI_AGAIN', syscall: 'getaddrinfo' }), early, 'dns_error'],
  [failed({ syscall: 'getaddrinfo' }), early, 'dns_error'],
  [failed({ code: 'ECONNREFUSED', syscall: 'connect' }), early, 'connect_refused'],
  [failed({ code: 'EHOSTUNREACH' }), early, 'connect_refused'],
  [failed({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), early, 'tls_error'],
  [failed({ code: 'CERT_HAS_EXPIRED' }), early, 'tls_error'],
  [failed({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), early, 'tls_error'],
  [failed({ code: 'EPROTO' }), early, 'tls_error'],
  [failed({ code: 'UND_ERR_SOCKET' }), early, 'connection_reset'],
  [failed({ code: 'ECONNRESET' }), { expired: false, responded: true }, 'connection_reset'],
  [failed({ code: 'HPE_INVALID_CONSTANT' }), early, 'connection_reset'],
  ['not an error', early, 'connection_reset'],
] as const)('%s, %o: %s', (error, progress, code) => {
  expect(postErrorOf(error, progress)).toBe(code);
});
