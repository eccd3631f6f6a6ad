import { type SharedService, useSharedService } from '../service/use-shared-service.ts';
import { type SharedStack, useStack } from '../service/use-stack.ts';
import type { ScriptedApi } from '../upstream/scripted-api.ts';
import { type Account, type AccountOptions, openAccount } from './account.ts';

/** What the tests of a file share: a service, a scripted API behind it, and accounts that read from it. */
interface Accounts<Shared extends SharedService> {
  readonly shared: () => Shared;
  readonly account: (parts: Omit<AccountOptions, 'baseUrl'>) => Promise<Account>;
}

/** As {@link useStack}, with accounts that read from the upstream. */
export const useAccounts = ({ reply }: Pick<ScriptedApi, 'reply'>): Accounts<SharedStack> =>
  accountsAt(useStack({ reply }));

/** As {@link useSharedService}, with accounts that read from the upstream. */
export const useSharedAccounts = ({ reply }: Pick<ScriptedApi, 'reply'>): Accounts<SharedService> =>
  accountsAt(useSharedService({ reply }));

const accountsAt = <Shared extends SharedService>(shared: () => Shared): Accounts<Shared> => ({
  shared,
  account: (parts) => openAccount(shared().stack, { baseUrl: shared().upstream.url, ...parts }),
});
