import { describe, expect, it } from 'vitest';
import { html } from '../../parts/html.ts';
import { deliveryProblem } from './delivery-problem.ts';

const words = async (errorCode: string): Promise<string> =>
  String(await html`${deliveryProblem({ errorCode, statusCode: null, nextAttemptAt: null })}`);

describe('why a delivery failed', () => {
  it('has words for a known code', async () => {
    expect(await words('dns_error')).toContain('The host name was not found.');
  });

  it.each(['constructor', 'toString', '__proto__', 'of_a_later_version'])(
    'shows the code %s, which it has no words for, as it is',
    async (code) => {
      expect(await words(code)).toContain(`It failed: ${code}.`);
    },
  );
});
