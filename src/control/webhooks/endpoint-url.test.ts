import { describe, expect, it } from 'vitest';
import { parseAllowList } from '../../core/http/addresses.ts';
import { createEgressGuard } from '../../core/http/egress.ts';
import { endpointUrlIssue } from './endpoint-url.ts';

const guard = (lookup: () => Promise<readonly string[]>, allow = '') =>
  createEgressGuard({ allow: parseAllowList(allow), deny: [], allowHttp: false, lookup });
const unasked = guard(() => Promise.reject(new Error('nothing is asked of DNS')));

describe('the URL of a webhook endpoint', () => {
  it('may be of a name that leads to public addresses', async () => {
    expect(
      await endpointUrlIssue(
        guard(async () => ['8.8.8.8', '2001:4860:4860::8888']),
        'https://hooks.example/x?y=1',
      ),
    ).toBeNull();
  });

  it.each([
    ['a private address', ['10.0.0.1']],
    ['a private address beside a public one', ['8.8.8.8', '10.0.0.1']],
    ['the metadata address', ['169.254.169.254']],
    ['nothing', []],
  ])('is refused for a name that leads to %s, and the reason does not say where', async (_what, responses) => {
    const issue = await endpointUrlIssue(
      guard(async () => responses),
      'https://hooks.example/',
    );
    expect(issue).toContain('public addresses only');
    expect(issue).not.toMatch(/\d+\.\d+|hooks/);
  });

  it('is accepted when DNS does not respond, because each request checks the address again', async () => {
    const silent = guard(() => Promise.reject(Object.assign(new Error('try again'), { code: 'EAI_AGAIN' })));
    expect(await endpointUrlIssue(silent, 'https://hooks.example/')).toBeNull();
  });

  it('is plain http only to an address that the operator has listed, whatever the port of its name', async () => {
    const responses = async () => ['10.0.0.1'];
    expect(await endpointUrlIssue(guard(responses, '10.0.0.0/8:80'), 'http://hooks.example/')).toBeNull();
    expect(
      await endpointUrlIssue(
        guard(async () => ['8.8.8.8'], '10.0.0.0/8:80'),
        'http://hooks.example/',
      ),
    ).toContain('plain http');
  });

  it.each([
    ['hooks.example', 'absolute URL'],
    ['', 'absolute URL'],
    ['https://hooks.example/#a', 'fragment'],
    ['https://hooks.example/#', 'fragment'],
    ['https://hooks.example/ ', 'white space'],
    ['https://hooks.example/\n', 'white space'],
    [`https://hooks.example/${'x'.repeat(2048)}`, '2048'],
    ['https://user@hooks.example/', 'user name'],
    ['javascript:alert(1)', 'http and https'],
    ['https://0x7f.1/', 'public addresses'],
  ])('is not %j', async (text, reason) => {
    expect(await endpointUrlIssue(unasked, text)).toContain(reason);
  });
});
