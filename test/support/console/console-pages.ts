import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { RichOrg } from './rich-org.ts';

/** Every page of the console by a name, as an address of the filled org. */
export const consolePages = (rich: RichOrg): Readonly<Record<string, string>> => ({
  overview: '',
  connections: '/connections',
  connection: `/connections/${rich.connectionId}`,
  'connection-runs': `/connections/${rich.connectionId}/runs`,
  'connection-quarantine': `/connections/${rich.partialConnectionId}/quarantine`,
  'connection-hooks': `/connections/${rich.connectionId}/hooks`,
  'connection-settings': `/connections/${rich.connectionId}/settings`,
  record: `/connections/${rich.connectionId}/record?resource=contacts&key=c_81`,
  find: '/find?q=c',
  'connection-error': `/connections/${rich.errorConnectionId}`,
  'connection-edit': `/connections/${rich.connectionId}/edit`,
  'new-connection': '/new-connection',
  'new-connection-form': '/new-connection?spec=crm&version=1.1.0',
  runs: '/runs',
  run: `/runs/${rich.runId}`,
  'run-failed': `/runs/${rich.failedRunId}`,
  'run-live': `/runs/${rich.runningRunId}`,
  quarantine: `/quarantine?connectionId=${rich.partialConnectionId}`,
  'quarantined-record': `/quarantine/${rich.quarantineId}`,
  endpoints: '/endpoints',
  endpoint: `/endpoints/${rich.failingEndpointId}`,
  deliveries: '/deliveries',
  delivery: `/deliveries/${rich.failedDeliveryId}`,
  catalogue: '/catalogue',
  connector: '/catalogue/hubspot',
  specs: '/specs',
  spec: '/specs/crm',
  'spec-next': '/new-spec?from=crm&version=1.1.0',
  'spec-draft': '/specs/crm/1.2.0',
  'spec-compare': '/specs/crm/compare?from=1.0.0&to=1.1.0',
  hooks: '/hooks',
  hook: `/hooks/${rich.hookId}`,
  'api-keys': '/api-keys',
});

/** A browser window that is signed in. */
export interface SignedIn extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of scripts and of the console of the browser, and what its policy refused. */
  readonly complaints: readonly string[];
}

/** Opens a window, and signs in by the form. */
export async function signIn(
  browser: Browser,
  { origin, apiKey }: { readonly origin: string; readonly apiKey: string },
  options: BrowserContextOptions = {},
): Promise<SignedIn> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(`${origin}/console`);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() };
}
