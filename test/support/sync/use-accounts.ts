import { type SharedStack, useStack } from '../service/use-stack.ts';
import type { ScriptedApi } from '../upstream/scripted-api.ts';
import { type Account, type AccountOptions, openAccount } from './account.ts';

/** What the tests of a file share: a service, a scripted API behind it, and accounts that read from it. */
interface SharedAccounts {
  readonly shared: () => SharedStack;
  readonly account: (parts: Omit<AccountOptions, 'baseUrl'>) => Promise<Account>;
}

/** As {@link useStack}, with accounts that read from the upstream. */
export function useAccounts({ reply }: Pick<ScriptedApi, 'reply'>): SharedAccounts {
  const shared = useStack({ reply });
  const account: SharedAccounts['account'] = (parts) =>
    openAccount(shared().stack, { baseUrl: shared().upstream.url, ...parts });
  return { shared, account };
}
