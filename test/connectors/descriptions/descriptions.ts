import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../servers/processes.ts';
import { downloads } from '../servers/real-server.ts';
import { stripeMock } from '../servers/stripe-mock.ts';
import { type ClientPackage, clientDescription } from './client-package.ts';
import type { LoadDescription } from './description.ts';
import { openApiDescription } from './openapi.ts';

/** The descriptions that vendors have in package registries, by connector. */
export const descriptions: Readonly<Record<string, LoadDescription | undefined>> = {
  github: async () => {
    const folder = await npmPackage('@octokit/openapi', '23.0.2');
    const document = await readJson(join(folder, 'generated/api.github.com.json'));
    return openApiDescription("GitHub's OpenAPI description (npm @octokit/openapi 23.0.2)", document);
  },
  stripe: async () => {
    const document = await readJson(join(await goModule(stripeMock), 'embedded/openapi/spec3.json'));
    return openApiDescription("Stripe's OpenAPI description (Go module stripe-mock 0.203.0)", document);
  },
  gitea: async () => {
    const document = await readJson(
      join(await goModule('code.gitea.io/gitea@v1.26.0'), 'templates/swagger/v1_json.tmpl'),
    );
    return openApiDescription("Gitea's Swagger description (Go module 1.26.0)", document, '/api/v1');
  },
  asana: client('asana', '3.2.0', { files: ['src/api/*.js', 'docs/*.yaml', '**/*.md'] }),
  gitlab: goClient('gitlab.com/gitlab-org/api/client-go', 'v1.46.0'),
  hubspot: client('@hubspot/api-client', '13.5.0', {
    files: ['lib/codegen/crm/{contacts,companies,objects,owners,deals,tickets}/**/*.js'],
    free: ['properties'],
  }),
  intercom: client('intercom-client', '7.0.3', {
    files: ['dist/cjs/api/**/*.{js,ts}', 'dist/cjs/serialization/**/*.ts'],
    free: ['custom_attributes', 'ticket_attributes'],
  }),
  klaviyo: client('klaviyo-api', '23.0.0', {
    files: ['dist/**/*.js', 'model/*.ts', 'api/*.ts'],
    free: ['properties', 'event_properties'],
  }),
  linear: client('@linear/sdk', '98.0.0', { files: ['dist/**/*.{ts,mts,cts,js,mjs,cjs}'] }),
  notion: client('@notionhq/client', '5.26.0', { files: ['build/src/**/*.{js,ts}'], free: ['properties'] }),
  pagerduty: goClient('github.com/PagerDuty/go-pagerduty', 'v1.8.0'),
  pipedrive: client('pipedrive', '33.7.0', { files: ['dist/versions/v{1,2}/**/*.{js,ts}'] }),
  sentry: client('@sentry/api', '0.1.0', { files: ['**/*.ts', '**/*.js'] }),
  slack: client('@slack/web-api', '8.2.0', { files: ['dist/**/*.{js,ts}'] }),
  square: client('square', '46.0.0', { files: ['api/**/*.{js,ts}', 'serialization/**/*.ts'] }),
  twilio: client('twilio', '6.2.0', { files: ['lib/rest/api/**/*.{js,ts}', 'lib/base/*.js'] }),
  xero: client('xero-node', '20.0.0', { files: ['dist/gen/api/accountingApi.js', 'dist/gen/model/accounting/*.js'] }),
};

function client(name: string, version: string, rest: Pick<ClientPackage, 'files' | 'free'>): LoadDescription {
  return async () => {
    const folder = await npmPackage(name, version);
    return clientDescription({ source: `the vendor's client (npm ${name} ${version}), by name`, folder, ...rest });
  };
}

function goClient(module: string, version: string): LoadDescription {
  return async () => {
    const folder = await goModule(`${module}@${version}`);
    return clientDescription({
      source: `the vendor's client (Go module ${module} ${version}), by name`,
      folder,
      files: ['*.go'],
    });
  };
}

/** The folder of a package of npm, without its dependencies. */
async function npmPackage(name: string, version: string): Promise<string> {
  const folder = await downloads(`${name.replaceAll(/\W/g, '-')}-${version}`);
  if (!existsSync(join(folder, 'package'))) {
    const [file = ''] = (await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder }))
      .trim()
      .split('\n');
    await run('tar', ['xzf', file], { cwd: folder });
  }
  return join(folder, 'package');
}

const goModule = async (module: string): Promise<string> =>
  JSON.parse(await run('go', ['mod', 'download', '-json', module])).Dir;

const readJson = async (file: string) => JSON.parse(await readFile(file, 'utf8'));
